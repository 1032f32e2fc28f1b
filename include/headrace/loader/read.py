"""The rest of an epoch, for one rank and worker: threads started, batches counted, everything let go of at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.loader.ahead import Ahead
from headrace.loader.batch import Batch
from headrace.loader.cache import CacheCounts, ShardCache
from headrace.loader.cursor import Cursor
from headrace.loader.errors import EpochIncomplete
from headrace.loader.options import LoaderOptions
from headrace.loader.place import Place
from headrace.loader.produce import Recipe, batches
from headrace.loader.source import Source, Surroundings
from headrace.loader.steps import Steps
from headrace.settings import cache_folder

READY_BYTES: Final = 16_000_000
"""Finished batches wait in memory that is used again soon, not in ever fresh pages."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is read and how: all that a reading process needs, and all of it can be sent to one.

    Attributes:
        source: pinned releases and their order.
        columns: of the batches.
        options: the user's choices.
        store: opens the lake; another one in tests.
    """

    source: Source
    columns: tuple[str, ...]
    options: LoaderOptions
    store: Callable[[str], Store] = open_store

    def steps(self, cursor: Cursor, place: Place) -> Steps:
        """The rest of the cursor's epoch."""
        return Steps(
            length=self.source.length,
            start=cursor.position,
            batch_size=self.options.batch_size,
            place=place,
            end=self.options.end,
        )

    def after(self, cursor: Cursor, stop: int) -> Cursor:
        """The cursor when the global batch that ends at `stop` is done: the next epoch's start once no step is left."""
        return replace(cursor, position=min(stop, self.source.length))

    def settled(self, cursor: Cursor, place: Place) -> Cursor:
        """The cursor, moved to the next epoch when nothing is left of this one."""
        if self.steps(cursor, place).count > 0:
            return cursor
        return replace(cursor, epoch=cursor.epoch + 1, position=0)


@contextlib.contextmanager
def opened_cache(options: LoaderOptions, counts: CacheCounts) -> Iterator[tuple[ShardCache, ThreadPoolExecutor]]:
    """The cache and the threads that fill it."""
    folder = cache_folder() if options.cache_folder is None else options.cache_folder
    cache = ShardCache(folder, max_bytes=options.cache_bytes, reverify_seconds=options.reverify_seconds, counts=counts)
    pool = ThreadPoolExecutor(options.fetch_threads, thread_name_prefix="headrace-fetch")
    try:
        yield cache, pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def read(reading: Reading, cursor: Cursor, place: Place, counts: CacheCounts) -> Iterator[Batch]:
    """The batches of one rank and worker from the cursor to the end of its epoch.

    Raises:
        ShardUnreadable, StoreBusy: naming the shard; raised here, in the consumer's thread.
        EpochIncomplete: fewer or more samples came out than the epoch has for this place.
    """
    steps, options = reading.steps(cursor, place), reading.options
    recipe = Recipe(columns=reading.columns, transform=options.transform, seed=cursor.seed)
    given = 0
    with opened_cache(options, counts) as (cache, pool):
        around = Surroundings(
            cache=cache,
            pool=pool,
            prefetch_bytes=options.prefetch_bytes,
            stop=(cursor.epoch + 1) * steps.length,
            store=reading.store,
        )
        made = batches(reading.source.reader(cursor.seed, around), steps, recipe, cursor.epoch)
        with _ahead(made, min(options.prefetch_bytes, READY_BYTES)) as ready:
            for batch in ready:
                given += int(batch.mask.sum())
                yield batch
    check_complete(reading, given, steps.expected_samples, cursor)


def check_complete(reading: Reading, given: int, expected: int, cursor: Cursor) -> None:
    """Raise `EpochIncomplete` unless all samples were handed over."""
    if given != expected:
        raise EpochIncomplete(
            f"epoch {cursor.epoch} of {reading.source.about}",
            found=f"{given} samples from position {cursor.position} on",
            expected=f"{expected} samples",
            remedy="Resume from the last cursor and report this: a reader must not lose or repeat a sample.",
        )


@contextlib.contextmanager
def _ahead(made: Iterator[Batch], max_bytes: int) -> Iterator[Iterator[Batch]]:
    if max_bytes == 0:
        yield made
        return
    ahead = Ahead(made, lambda batch: batch.nbytes, max_bytes=max_bytes)
    try:
        yield ahead
    finally:
        ahead.close()
