"""The order of one epoch: a function of what is read, the seed and the epoch. Nothing else is asked.

Shards are shuffled; consecutive shards of that order form windows of about `window_bytes`; within a window samples are shuffled. So a
reader holds one window, and neither ranks, nor workers, nor how far one reads ahead can move a sample. Position `p` counts the
samples of the epoch from 0. Any position is reached without walking there: windows are found by bisection, and a window's shuffle
is computed when it is entered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.loader.randomness import key_of, permutation

Positions = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What an order needs to know of a release.

    Attributes:
        fingerprint: digest of the release and of what is chosen from it.
        rows: samples taken from each shard, in the release's order; 0 for a shard that is not read.
        sizes: written bytes of each shard.
        window_bytes: see `LoaderOptions`.
        shuffle: False keeps the release's order.
    """

    fingerprint: str
    rows: tuple[int, ...]
    sizes: tuple[int, ...]
    window_bytes: int
    shuffle: bool

    @property
    def length(self) -> int:
        return sum(self.rows)


@dataclass(frozen=True, kw_only=True)
class Window:
    """Shards read together.

    Attributes:
        number: counted from 0 in the epoch.
        start: the first position.
        shards: their places in the release, in the epoch's order.
        rows: samples of each of these shards.
        key: of the shuffle within; None for no shuffle.
    """

    number: int
    start: int
    shards: tuple[int, ...]
    rows: tuple[int, ...]
    key: int | None

    @property
    def length(self) -> int:
        return sum(self.rows)

    @property
    def stop(self) -> int:
        """The position after the last."""
        return self.start + self.length

    def places(self) -> Positions:
        """For each position of the window, in order, the sample's place among the window's samples laid end to end."""
        if self.key is None:
            return np.arange(self.length, dtype=np.int64)
        return permutation(self.key, self.length)


class EpochOrder:
    """The windows of one epoch."""

    def __init__(self, shape: Shape, seed: int, epoch: int) -> None:
        self.shape = shape
        self._seed = seed
        self._epoch = epoch
        self._groups = _groups(shape, self._shards())
        lengths = [sum(shape.rows[shard] for shard in group) for group in self._groups]
        self._starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)

    @property
    def windows(self) -> int:
        return len(self._groups)

    def window(self, number: int) -> Window:
        """One window by its number."""
        shards = self._groups[number]
        key = key_of("window", self.shape.fingerprint, self._seed, self._epoch, number) if self.shape.shuffle else None
        return Window(
            number=number,
            start=int(self._starts[number]),
            shards=shards,
            rows=tuple(self.shape.rows[shard] for shard in shards),
            key=key,
        )

    def windows_at(self, positions: Positions) -> Positions:
        """For each position, `0 <= position < length`, the number of the window that holds it."""
        return np.searchsorted(self._starts, positions, side="right").astype(np.int64) - 1

    def _shards(self) -> list[int]:
        count = len(self.shape.rows)
        if not self.shape.shuffle:
            shards = range(count)
            return [shard for shard in shards if self.shape.rows[shard] > 0]
        key = key_of("shards", self.shape.fingerprint, self._seed, self._epoch)
        return [int(shard) for shard in permutation(key, count) if self.shape.rows[int(shard)] > 0]


def _groups(shape: Shape, shards: list[int]) -> list[tuple[int, ...]]:
    """Consecutive shards up to `window_bytes` together, at least one each."""
    groups: list[tuple[int, ...]] = []
    current: list[int] = []
    held = 0
    for shard in shards:
        if current and held + shape.sizes[shard] > shape.window_bytes:
            groups.append(tuple(current))
            current, held = [], 0
        current.append(shard)
        held += shape.sizes[shard]
    return [*groups, tuple(current)] if current else groups
