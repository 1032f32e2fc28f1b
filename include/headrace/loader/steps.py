"""Which positions a rank takes, step by step.

A global step covers `world_size * batch_size` consecutive positions, wherever the epoch is taken up; rank `r` takes those with
`p mod W = r`. So every rank has exactly `batch_size` of them, the union over the ranks is the global batch, and two world sizes with the
same global batch see the same global batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.loader.order import Positions
from headrace.loader.place import Place


@dataclass(frozen=True, kw_only=True)
class Step:
    """One rank's part of one global step.

    Attributes:
        start, stop: the global batch's positions, half open; `stop` may lie beyond the epoch's end.
        positions: the rank's positions, each below the epoch's length.
        mask: False where a position stands in for a sample that does not exist (`pad`).
    """

    start: int
    stop: int
    positions: Positions
    mask: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The rest of an epoch from `start` on, as one rank sees it.

    Attributes:
        length: samples in the epoch.
        start: the first position of the rest.
        batch_size: per rank.
        place: the rank and the worker.
        end: `exact`, `pad` or `drop`.
    """

    length: int
    start: int
    batch_size: int
    place: Place
    end: str

    @property
    def global_batch(self) -> int:
        return self.batch_size * self.place.world_size

    @property
    def count(self) -> int:
        """Global steps that remain."""
        rest = self.length - self.start
        return rest // self.global_batch if self.end == "drop" else -(-rest // self.global_batch)

    @property
    def own(self) -> range:
        """The numbers of the steps this worker makes; the last one may be empty for this rank with `exact`."""
        return range(self.place.worker, self.count, self.place.workers)

    @property
    def expected_samples(self) -> int:
        """Unmasked samples this rank and worker will be given, by a formula that does not walk the steps.

        The rank's positions in `[start, stop)` less what falls on other workers' batches.
        """
        if self.count == 0:
            return 0
        full, last = self.count - 1, self.step(self.count - 1)
        mine = len(range(self.place.worker, full, self.place.workers)) * self.batch_size
        return mine + (int(last.mask.sum()) if full % self.place.workers == self.place.worker else 0)

    def step(self, number: int) -> Step:
        """One step by its number, counted from `start`."""
        world, rank = self.place.world_size, self.place.rank
        first = self.start + number * self.global_batch
        positions = first + (rank - first) % world + np.arange(self.batch_size, dtype=np.int64) * world
        real = positions < self.length
        if self.end == "exact":
            positions, real = positions[real], real[real]
        # A stand-in repeats from the epoch's end backwards: those samples' window is still open.
        stand_ins = self.length - 1 - (positions - self.length) % self.length
        return Step(start=first, stop=first + self.global_batch, positions=np.where(real, positions, stand_ins), mask=real)
