"""The doors: from a lake and a dataset's name to a loader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.loader.cache import CacheCounts
from headrace.loader.errors import ColumnsRefused
from headrace.loader.loader import Loader
from headrace.loader.mixture import quotas
from headrace.loader.options import LoaderOptions
from headrace.loader.place import Place
from headrace.loader.read import Reading, opened_cache
from headrace.loader.record import Recorder
from headrace.loader.release import Pinned, Shard, pin
from headrace.loader.select import batch_columns, chosen_rows, read_columns
from headrace.loader.source import Mixed, Release
from headrace.settings import cache_folder
from headrace.spec.errors import check


def open_loader(
    lake: str,
    dataset: str,
    *,
    version: str = "LATEST",
    options: LoaderOptions | None = None,
    place: Place | None = None,
    record: Path | None = None,
    store: Callable[[str], Store] = open_store,
) -> Loader:
    """Open one dataset.

    Args:
        lake: URI, `s3://bucket/prefix` or `file:///folder`.
        dataset: its name.
        version: `LATEST`, a tag, or a release's digest. What it names now is pinned.
        options: choices; None: the defaults.
        place: this rank; None: the only one.
        record: a folder for the run's record (see `docs/loading.md`); None: nothing is recorded.
        store: opens the lake.

    Raises:
        NotPublished: no such dataset, tag or release.
        ColumnsRefused: a column or the split is not there.
        NothingToRead: no sample is.
    """
    chosen = LoaderOptions() if options is None else options
    release, columns = _release(lake, dataset, version, chosen, store)
    return _loader(Reading(source=release, columns=columns, options=chosen, store=store), place, record)


def open_mixture(
    lake: str,
    weights: Mapping[str, float],
    *,
    versions: Mapping[str, str] | None = None,
    samples: int | None = None,
    options: LoaderOptions | None = None,
    place: Place | None = None,
    record: Path | None = None,
    store: Callable[[str], Store] = open_store,
) -> Loader:
    """Open several datasets of a lake as one.

    Args:
        lake: URI.
        weights: dataset -> share of the samples; need not add up to 1, exact over every thousand samples.
        versions: dataset -> version, where it is not `LATEST`.
        samples: what is called an epoch of the mixture; None: as many as the datasets hold together.
        options, place, record, store: as in `open_loader`; `split` counts for all of them.

    Raises:
        ColumnsRefused: the datasets disagree about a column of the batch. Others as `open_loader`.
    """
    chosen, named = (LoaderOptions() if options is None else options), ({} if versions is None else versions)
    check(samples is None or samples >= 1, "mixture", "samples", samples, "at least 1, or None")
    quotas(list(weights.values()))
    opened = [_release(lake, dataset, named.get(dataset, "LATEST"), chosen, store) for dataset in weights]
    parts = tuple(release for release, _ in opened)
    _check_same(parts, [columns for _, columns in opened])
    mixed = Mixed(
        parts=tuple(_narrowed(part, opened[0][1]) for part in parts),
        weights=tuple(weights.values()),
        length=sum(part.length for part in parts) if samples is None else samples,
    )
    return _loader(Reading(source=mixed, columns=opened[0][1], options=chosen, store=store), place, record)


def _loader(reading: Reading, place: Place | None, record: Path | None) -> Loader:
    where = Place() if place is None else place
    recorder = None if record is None else Recorder(record, reading, where)
    return Loader(reading, where, recorder)


def _release(
    lake: str, dataset: str, version: str, options: LoaderOptions, store: Callable[[str], Store]
) -> tuple[Release, tuple[str, ...]]:
    opened = store(lake)
    pinned = pin(opened, dataset, version, cache_folder() if options.cache_folder is None else options.cache_folder)
    columns = batch_columns(pinned, options.columns)
    wanted = read_columns(pinned, columns, options.split)
    with opened_cache(options, CacheCounts()) as (cache, pool):

        def open_shard(shard: Shard) -> pa.Table:
            return cache.open(opened, shard, wanted)

        rows = chosen_rows(pinned, options.split, open_shard, pool)
    release = Release(
        pinned=pinned,
        columns=wanted,
        chosen=rows,
        split=options.split,
        window_bytes=options.window_bytes,
        shuffle=options.shuffle,
    )
    return release, columns


def _check_same(parts: tuple[Release, ...], columns: list[tuple[str, ...]]) -> None:
    def types(pinned: Pinned, names: tuple[str, ...]) -> dict[str, str]:
        return {name: pinned.columns[name] for name in names}

    first = types(parts[0].pinned, columns[0])
    for part, names in zip(parts, columns, strict=True):
        found = types(part.pinned, names)
        if found != first:
            name = sorted(set(found.items()) ^ set(first.items()))[0][0]
            raise ColumnsRefused(
                f"mixture column {name}",
                found=f"{found.get(name, 'no such column')} in {part.pinned.dataset}",
                expected=f"{first.get(name, 'no such column')}, as in {parts[0].pinned.dataset}",
                remedy="Name the columns the datasets share in LoaderOptions.columns.",
            )


def _narrowed(part: Release, columns: tuple[str, ...]) -> Release:
    """The part with its columns in the mixture's order, so that batches of different datasets can stand end to end."""
    extra = tuple(name for name in part.columns if name not in columns)
    return replace(part, columns=(*columns, *sorted(extra)))
