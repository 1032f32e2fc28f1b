"""The loader: iterate an epoch, stop anywhere, save five numbers, go on anywhere.

Each iteration gives the rest of the current epoch, from the cursor on; the cursor moves with every batch handed over, and to the next
epoch after the last. Breaking off and iterating again therefore goes on, it does not start again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from headrace.loader.batch import Batch
from headrace.loader.cache import CacheCounts
from headrace.loader.cursor import Cursor, cursor_from, order_number
from headrace.loader.errors import IteratorStale, NothingToRead
from headrace.loader.place import Place
from headrace.loader.progress import shown
from headrace.loader.read import Reading, read
from headrace.loader.record import Recorder
from headrace.loader.stats import LoaderStats, Meter
from headrace.spec.canonical import digest_of


class Loader:
    """Reads pinned releases for one rank. Made by `open_loader` and `open_mixture`."""

    def __init__(self, reading: Reading, place: Place, recorder: Recorder | None = None) -> None:
        _check_something_to_read(reading, place)
        self._reading = reading
        self._place = place
        self._recorder = recorder
        fingerprint = digest_of({"source": reading.source.fingerprint, "end": reading.options.end})
        self._cursor = Cursor(order=order_number(fingerprint), seed=reading.options.seed, epoch=0, position=0)
        self._counts = CacheCounts()
        self._meter = Meter()
        self._generation = 0

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process reads the same order from the same cursor; it neither records nor counts.
        return _copied, (self._reading, self._place, self._cursor)

    @property
    def reading(self) -> Reading:
        return self._reading

    @property
    def place(self) -> Place:
        return self._place

    @property
    def cursor(self) -> Cursor:
        """Where the next iteration starts."""
        return self._cursor

    @property
    def counts(self) -> CacheCounts:
        """What the shard cache did; adapters add their workers' part."""
        return self._counts

    @property
    def epoch(self) -> int:
        return self._cursor.epoch

    @property
    def length(self) -> int:
        """Samples in an epoch, over all ranks."""
        return self._reading.source.length

    @property
    def data_version(self) -> dict[str, Any]:
        """What to store beside a cursor to open the same order again: releases by digest, and the choices that decide the order."""
        options = self._reading.options
        return {
            "order": self._cursor.order,
            "about": self._reading.source.about,
            "releases": {part.pinned.dataset: part.pinned.digest for part in self._reading.source.parts},
            "split": options.split,
            "shuffle": options.shuffle,
            "window_bytes": options.window_bytes,
            "end": options.end,
        }

    def __len__(self) -> int:
        """Global steps left in this epoch."""
        return self._reading.steps(self._cursor, self._place).count

    def __iter__(self) -> Iterator[Batch]:
        return self.hand_over(read(self._reading, self._cursor, self._place, self._counts))

    def hand_over(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches, measured and recorded, the cursor moving along. They must be this rank's rest of the epoch; adapters whose
        workers make them call this.
        """
        self._generation += 1
        return self._handed_over(batches, self._generation)

    def samples(self) -> Iterator[dict[str, Any]]:
        """The rest of the epoch sample by sample; the cursor moves batch by batch."""
        for batch in self:
            yield from batch.samples()

    def state_dict(self) -> dict[str, int]:
        """Five numbers, the same on every rank after the same step. JSON and torch can hold them."""
        return self._cursor.state()

    def load_state_dict(self, state: object) -> None:
        """Go on where the state was saved, at this loader's world size and worker count; its seed counts, not the options'.

        Raises:
            StateRefused: the state is missing, foreign, of another format or altered; the loader stays as it was.
        """
        cursor = cursor_from(state, order=self._cursor.order, length=self.length, about=self._reading.source.about)
        self._move(self._reading.settled(cursor, self._place))

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch."""
        self._move(Cursor(order=self._cursor.order, seed=self._cursor.seed, epoch=epoch, position=0))

    def stats(self) -> LoaderStats:
        """Input wait against step time, and what the cache did."""
        return LoaderStats(
            batches=self._meter.batches,
            samples=self._meter.samples,
            wait_seconds=self._meter.wait_seconds,
            step_seconds=self._meter.step_seconds,
            first_batch_seconds=self._meter.first_batch_seconds,
            bytes_fetched=self._counts.bytes_fetched,
            cache_hits=self._counts.hits,
            cache_misses=self._counts.misses,
            refetched=self._counts.refetched,
        )

    def log(self, **values: float) -> None:
        """Metrics of the step under way, for the audits; see `Recorder.log`. Nothing happens when no run is recorded."""
        if self._recorder is not None:
            self._recorder.log(**values)

    def _move(self, cursor: Cursor) -> None:
        self._generation += 1
        self._cursor = cursor

    def _handed_over(self, batches: Iterator[Batch], generation: int) -> Iterator[Batch]:
        """Hand batches over: measure both sides, record, and move the cursor."""
        start, first = self._cursor, True
        if self._recorder is not None:
            self._recorder.opened(start)
        with shown(self._reading, start) as advance:
            while True:
                asked = time.perf_counter()
                batch = next(batches, None)
                self._check_current(generation)
                if batch is None:
                    break
                waited = time.perf_counter() - asked
                self._meter.waited(waited, first=first)
                self._meter.handed_over(int(batch.mask.sum()))
                first = False
                self._cursor = self._reading.settled(self._reading.after(start, batch.stop), self._place)
                if self._recorder is not None:
                    self._recorder.batch(batch, after=self._cursor)
                advance(batch.stop)
                given = time.perf_counter()
                yield batch
                stepped = time.perf_counter() - given
                self._meter.step_seconds += stepped
                if self._recorder is not None:
                    self._recorder.stepped(wait_seconds=waited, step_seconds=stepped)
                self._check_current(generation)
        if self._cursor.epoch == start.epoch:  # a rank whose part of the last step was empty
            self._cursor = Cursor(order=start.order, seed=start.seed, epoch=start.epoch + 1, position=0)

    def _check_current(self, generation: int) -> None:
        if generation != self._generation:
            raise IteratorStale(
                f"an iterator of {self._reading.source.about}",
                found="a newer iterator, or a cursor moved by load_state_dict or set_epoch",
                expected="one iterator at a time",
                remedy="Iterate the loader anew: it goes on from its cursor.",
            )


def _copied(reading: Reading, place: Place, cursor: Cursor) -> Loader:
    loader = Loader(reading, place)
    loader._move(cursor)
    return loader


def _check_something_to_read(reading: Reading, place: Place) -> None:
    length, options = reading.source.length, reading.options
    needed = options.batch_size * place.world_size if options.end == "drop" else 1
    if length < needed:
        raise NothingToRead(
            reading.source.about,
            found=f"{length} samples",
            expected=f"at least {needed}",
            remedy="Choose another split or release, or, with end='drop', a smaller batch.",
        )
