"""Who is reading: one rank of a training run, and one reading process of that rank."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.spec.errors import check


@dataclass(frozen=True, kw_only=True)
class Place:
    """A rank and a worker within it.

    Attributes:
        rank, world_size: rank `r` of `W` takes the global positions `p` with `p mod W = r`.
        worker, workers: worker `j` of `N` within the rank makes the rank's batches `j`, `j + N`, ...: cutting the work among
            processes moves no sample to another batch.
    """

    rank: int = 0
    world_size: int = 1
    worker: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        check(self.world_size >= 1, "Place", "world_size", self.world_size, "at least 1")
        check(0 <= self.rank < self.world_size, "Place", "rank", self.rank, f"0 to {self.world_size - 1}")
        check(self.workers >= 1, "Place", "workers", self.workers, "at least 1")
        check(0 <= self.worker < self.workers, "Place", "worker", self.worker, f"0 to {self.workers - 1}")
