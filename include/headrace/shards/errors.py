"""What can be wrong with a shard or a sample."""

from __future__ import annotations

from headrace.errors import FinalError


class SampleTooLarge(FinalError):
    """One sample is over the hard cap of a shard."""


class SampleIdRepeated(FinalError):
    """Two samples claim one ID: never `last wins`."""


class ShardDamaged(FinalError):
    """A shard's bytes are not the ones its manifest names."""


class SampleDamaged(FinalError):
    """A single sample read by its ID is not the one the index describes."""


class IndexDamaged(FinalError):
    """A sample index file is not the one its manifest names, or does not describe the shards."""


class GroupMissing(FinalError):
    """A group of a plan has no result: its write task did not run, or its result was removed."""
