"""What can be wrong with a transform, its code, or a replay."""

from __future__ import annotations

from headrace.errors import FinalError, RetryableError


class CodeRefused(FinalError, ValueError):
    """Code whose identity cannot be told, so that its results could be served stale. Names what and why."""


class CodeChanged(FinalError):
    """The code is no longer the one the run was planned with."""


class OutputRefused(FinalError, TypeError):
    """A function returned something else than its declaration says."""


class TooMuchFailed(FinalError):
    """More samples made a step raise than the declaration allows."""


class WorkerDied(FinalError):
    """A process of the task ended in the middle of its work: killed for memory, or crashed in native code."""


class ShardNotTransformed(RetryableError):
    """A planned shard has no result, or its result is gone."""


class SamplesDiffer(FinalError):
    """Samples in are not samples transformed, filtered out or quarantined: something was lost or doubled."""


class SampleNotFound(FinalError, LookupError):
    """No sample of the release is the one asked for."""

    __str__ = FinalError.__str__  # LookupError would print the tuple of its arguments


class NotReplayable(FinalError):
    """Rows that were computed from many others have no single source to go back to."""
