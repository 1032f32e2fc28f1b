"""One dataset as an endless stream of samples: epoch after epoch, each a shuffle of the whole.

A stream is read by place in the stream (`epoch * length + position`), in blocks. It keeps the window it reads from and the one
before, and has the next shards fetched meanwhile, within `prefetch_bytes`, up to `stop`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from headrace.loader.order import EpochOrder, Positions, Shape, Window
from headrace.loader.window import OpenWindow, Piece, together

OpenShard = Callable[[int], list[Piece]]
_WINDOWS_KEPT = 2


@dataclass(frozen=True, kw_only=True)
class Entered:
    """A window of an epoch, open and shuffled."""

    open: OpenWindow
    window: Window
    places: Positions


class Stream:
    """Reads one shape. `open_shard` gives a shard's rows by its place in the release; it is called from `pool`'s threads."""

    def __init__(self, shape: Shape, seed: int, open_shard: OpenShard, pool: Executor, *, prefetch_bytes: int, stop: int) -> None:
        self._shape = shape
        self._seed = seed
        self._stop = stop
        self._ahead = _Ahead(shape.sizes, open_shard, pool, prefetch_bytes)
        self._orders: OrderedDict[int, EpochOrder] = OrderedDict()
        self._entered: OrderedDict[tuple[int, int], Entered] = OrderedDict()

    def take(self, places: Positions) -> pa.RecordBatch:
        """The samples at these places of the stream, in that order. Shape (places,)."""
        epochs, positions = np.divmod(places, self._shape.length)
        windows = np.empty_like(positions)
        for epoch in np.unique(epochs):
            here = epochs == epoch
            windows[here] = self._order(int(epoch)).windows_at(positions[here])
        changes = np.flatnonzero((np.diff(epochs) != 0) | (np.diff(windows) != 0)) + 1
        parts = []
        for start, stop in pairwise([0, *changes.tolist(), len(places)]):
            entered = self._enter(int(epochs[start]), int(windows[start]))
            parts.append(entered.open.take(entered.places[positions[start:stop] - entered.window.start]))
        return together(parts)

    def row_bytes(self, place: int) -> float:
        """Bytes in memory of an average sample of the window at this place."""
        epoch, position = divmod(place, self._shape.length)
        return self._enter(epoch, int(self._order(epoch).windows_at(np.array([position]))[0])).open.row_bytes

    def _enter(self, epoch: int, number: int) -> Entered:
        key = (epoch, number)
        found = self._entered.get(key)
        if found is not None:
            return found
        window = self._order(epoch).window(number)
        self._ahead.want(window.shards)
        pieces = [piece for shard in window.shards for piece in self._ahead.get(shard)]
        entered = Entered(open=OpenWindow(pieces), window=window, places=window.places())
        self._entered[key] = entered
        while len(self._entered) > _WINDOWS_KEPT:
            self._entered.popitem(last=False)
        self._ahead.plan(self._following(epoch, number))
        return entered

    def _following(self, epoch: int, number: int) -> Iterator[int]:
        """The shards after a window, into the next epoch, up to where the stream is read."""
        for later_epoch, first in ((epoch, number + 1), (epoch + 1, 0)):
            order = self._order(later_epoch)
            for later in range(first, order.windows):
                window = order.window(later)
                if later_epoch * self._shape.length + window.start >= self._stop:
                    return
                yield from window.shards

    def _order(self, epoch: int) -> EpochOrder:
        found = self._orders.get(epoch)
        if found is None:
            found = EpochOrder(self._shape, self._seed, epoch)
            self._orders[epoch] = found
            while len(self._orders) > _WINDOWS_KEPT:
                self._orders.popitem(last=False)
        return found


class _Ahead:
    """Shards on their way: those of the window being entered, and the following ones within a bound of written bytes."""

    def __init__(self, sizes: tuple[int, ...], open_shard: OpenShard, pool: Executor, max_bytes: int) -> None:
        self._sizes = sizes
        self._open = open_shard
        self._pool = pool
        self._max_bytes = max_bytes
        self._coming: dict[int, Future[list[Piece]]] = {}
        self._waiting: deque[int] = deque()
        self._upcoming: Iterator[int] = iter(())

    def want(self, shards: tuple[int, ...]) -> None:
        self._waiting = deque(shard for shard in shards if shard not in self._coming)
        self._upcoming = iter(())
        self._fill()

    def plan(self, upcoming: Iterator[int]) -> None:
        """What comes after the shards that were wanted."""
        self._upcoming = upcoming if self._max_bytes > 0 else iter(())
        self._fill()

    def get(self, shard: int) -> list[Piece]:
        self._fill()
        future = self._coming.get(shard)
        if future is None:
            return self._open(shard)
        try:
            return future.result()
        finally:
            del self._coming[shard]
            self._fill()

    def _fill(self) -> None:
        held = sum(self._sizes[shard] for shard in self._coming)
        while True:
            if not self._waiting:
                later = next(self._upcoming, None)
                if later is None:
                    return
                self._waiting.append(later)
            shard = self._waiting[0]
            if self._coming and held + self._sizes[shard] > self._max_bytes:
                return
            self._waiting.popleft()
            if shard not in self._coming:
                self._coming[shard] = self._pool.submit(self._open, shard)
                held += self._sizes[shard]
