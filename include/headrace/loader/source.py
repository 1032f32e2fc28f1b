"""What a loader reads, as values that cross process borders: pinned releases, chosen rows, and the order over them.

A source knows its length and its fingerprint without opening anything. `reader` opens it in the process that reads: stores, threads and
mapped files are made there and never inherited, so forked and spawned workers are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.loader.cache import ShardCache
from headrace.loader.mixture import Mixture
from headrace.loader.order import Positions, Shape
from headrace.loader.release import Pinned
from headrace.loader.select import Chosen
from headrace.loader.stream import Stream
from headrace.loader.window import Piece, pieces, together
from headrace.spec.canonical import digest_of


class Reader(Protocol):
    """Gives samples by place: `epoch * length + position`."""

    def take(self, places: Positions) -> pa.RecordBatch:
        """The samples at these places, in that order."""

    def row_bytes(self, place: int) -> float:
        """Bytes in memory of a sample thereabouts."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a reader needs of the process it runs in. `stop`: the place after the last that will be read."""

    cache: ShardCache
    pool: Executor
    prefetch_bytes: int
    stop: int
    store: Callable[[str], Store] = open_store


@dataclass(frozen=True, kw_only=True)
class Release:
    """One pinned release and what is read of it.

    Attributes:
        pinned: the release.
        columns: read from each shard.
        chosen: rows of each shard.
        split: the part that was chosen, None for all.
        window_bytes, shuffle: of the order.
    """

    pinned: Pinned
    columns: tuple[str, ...]
    chosen: Chosen
    split: str | None
    window_bytes: int
    shuffle: bool

    @property
    def fingerprint(self) -> str:
        """Of everything that decides which sample stands at which position, the seed apart."""
        order = {"shuffle": self.shuffle, "window_bytes": self.window_bytes if self.shuffle else None}
        return digest_of(
            {"order": 1, "dataset": self.pinned.dataset, "release": self.pinned.digest, "split": self.split, **order}
        )

    @cached_property
    def shape(self) -> Shape:
        shards = self.pinned.shards
        rows = [shard.rows if chosen is None else chosen.shape[0] for shard, chosen in zip(shards, self.chosen, strict=True)]
        return Shape(
            fingerprint=self.fingerprint,
            rows=tuple(rows),
            sizes=tuple(shard.size_bytes for shard in shards),
            window_bytes=self.window_bytes,
            shuffle=self.shuffle,
        )

    @property
    def length(self) -> int:
        return self.shape.length

    @property
    def parts(self) -> tuple[Release, ...]:
        return (self,)

    @property
    def about(self) -> str:
        part = "" if self.split is None else f", split {self.split}"
        return f"{self.pinned.dataset} release {self.pinned.number} ({self.pinned.digest}){part}"

    def reader(self, seed: int, around: Surroundings) -> Reader:
        store = around.store(self.pinned.lake_uri)

        def open_shard(number: int) -> list[Piece]:
            rows = around.cache.open(store, self.pinned.shards[number], self.columns)
            return pieces(rows, self.chosen[number])

        return Stream(self.shape, seed, open_shard, around.pool, prefetch_bytes=around.prefetch_bytes, stop=around.stop)


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Several releases by weights. `length` is how many samples are called an epoch of the mixture."""

    parts: tuple[Release, ...]
    weights: tuple[float, ...]
    length: int

    @property
    def fingerprint(self) -> str:
        return digest_of(
            {
                "mixture": 1,
                "parts": [part.fingerprint for part in self.parts],
                "weights": list(self.weights),
                "length": self.length,
            }
        )

    @property
    def about(self) -> str:
        parts = [f"{weight:g} of {part.about}" for part, weight in zip(self.parts, self.weights, strict=True)]
        return f"a mixture of {'; '.join(parts)}; {self.length} samples an epoch"

    def reader(self, seed: int, around: Surroundings) -> Reader:
        return _MixedReader(self, seed, around)


Source = Release | Mixed


class _MixedReader:
    def __init__(self, mixed: Mixed, seed: int, around: Surroundings) -> None:
        self._mixture = Mixture(mixed.fingerprint, seed, mixed.weights)
        stops = self._mixture.counts_before(around.stop)
        share = around.prefetch_bytes // len(mixed.parts)
        self._readers = [
            part.reader(
                seed,
                Surroundings(cache=around.cache, pool=around.pool, prefetch_bytes=share, stop=int(stop), store=around.store),
            )
            for part, stop in zip(mixed.parts, stops, strict=True)
        ]

    def take(self, places: Positions) -> pa.RecordBatch:
        stream, within = self._mixture.deal(places)
        order = np.argsort(stream, kind="stable")
        parts = [reader.take(within[stream == n]) for n, reader in enumerate(self._readers) if bool((stream == n).any())]
        back = np.empty_like(order)
        back[order] = np.arange(order.shape[0])
        return together(parts).take(back)

    def row_bytes(self, place: int) -> float:
        stream, within = self._mixture.deal(np.array([place]))
        return self._readers[int(stream[0])].row_bytes(int(within[0]))
