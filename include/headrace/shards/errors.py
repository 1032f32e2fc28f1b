"""What can be wrong with a shard or a sample."""

from __future__ import annotations

from headrace.errors import FinalError


class SampleTooLarge(FinalError):
    """One sample is over the hard cap of a shard."""


class SampleIdRepeated(FinalError):
    """Two samples claim one ID: never `last wins`."""


class ShardDamaged(FinalError):
    """A shard's bytes are not the ones its manifest names."""
