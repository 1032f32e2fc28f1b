"""What can go wrong between a release and the training step. None of these ever ends an epoch early in silence."""

from __future__ import annotations

from headrace.errors import FinalError, RetryableError


class StateRefused(FinalError, ValueError):
    """A cursor is missing, foreign, of another format, or out of range. Never taken for a start from zero."""


class ShardUnreadable(FinalError):
    """A shard could not be read or is not what its manifest names. Raised in the consumer's thread."""


class StoreBusy(RetryableError):
    """The store did not give a shard now; the same cursor may succeed later."""


class ColumnsRefused(FinalError, LookupError):
    """The release has no such column, or its partitions disagree about one."""


class NothingToRead(FinalError, LookupError):
    """The release, or the chosen split of it, holds no sample."""


class EpochIncomplete(FinalError):
    """The samples handed over are not the samples of the epoch: a defect, reported instead of a short epoch."""


class IteratorStale(FinalError):
    """An older iterator of a loader was advanced after a newer one was made."""


class CacheRefused(FinalError, OSError):
    """The cache folder cannot be written."""

    __str__ = FinalError.__str__


class WorkerLost(RetryableError):
    """A process that reads for this rank died. The cursor stands behind the last batch handed over."""


class TransformFailed(FinalError):
    """A transform raised, or returned something that is not its batch; names the sample IDs."""


class RecordRefused(FinalError, ValueError):
    """A recorded run cannot be read: damaged, of another format, or none at all."""
