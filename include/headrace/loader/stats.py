"""How reading keeps up with training."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class LoaderStats:
    """Since the loader was made. Bytes fetched are written bytes from the lake; seconds are wall clock.

    Attributes:
        batches, samples: handed over.
        wait_seconds: the training step waited for input.
        step_seconds: the training step ran.
        first_batch_seconds: from asking to the first batch of the latest epoch; None before.
        bytes_fetched, cache_hits, cache_misses, refetched: of the shard cache, in this process.
    """

    batches: int
    samples: int
    wait_seconds: float
    step_seconds: float
    first_batch_seconds: float | None
    bytes_fetched: int
    cache_hits: int
    cache_misses: int
    refetched: int

    @property
    def wait_share(self) -> float:
        """The part of the time that was waiting, 0 to 1."""
        total = self.wait_seconds + self.step_seconds
        return self.wait_seconds / total if total > 0 else 0.0


@dataclass(kw_only=True)
class Meter:
    """The running sums."""

    batches: int = 0
    samples: int = 0
    wait_seconds: float = 0.0
    step_seconds: float = 0.0
    first_batch_seconds: float | None = None
    last_wait_seconds: float = field(default=0.0)

    def waited(self, seconds: float, *, first: bool) -> None:
        self.wait_seconds += seconds
        self.last_wait_seconds = seconds
        if first:
            self.first_batch_seconds = seconds

    def handed_over(self, samples: int) -> None:
        self.batches += 1
        self.samples += samples
