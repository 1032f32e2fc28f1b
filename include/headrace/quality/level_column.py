"""A categorical or boolean column of one batch, counted: rows by distinct level first, so that all else costs the levels alone."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.quality.bins import BOOLEAN_CELLS, ColumnBins, LevelBins
from headrace.quality.profile import MAX_FREE_LEVELS, MAX_NEW_LEVELS, SPECIALS, ColumnProfile
from headrace.quality.strata import Cells, Strata, as_tuples
from headrace.spec.quality import Kind


def level_column(values: pa.Array[Any], bins: ColumnBins | None, strata: Strata) -> ColumnProfile:
    """The profile of texts, or of integers, booleans and dates as texts; without bins, all levels while they are few."""
    places, levels = _places(values)
    counts = strata.counts(places, len(levels) + 1)
    by_level, seen = counts[:, 1:], counts[:, 1:].sum(axis=0)
    if not isinstance(bins, LevelBins):
        free = sorted((str(level), count) for level, count in zip(levels.to_pylist(), seen.tolist(), strict=True) if count)
        base = _profile("categorical", counts[:, 0], np.empty((strata.count, 0), np.intp), int(seen.sum()))
        return replace(base, free_levels=tuple(free) if len(free) <= MAX_FREE_LEVELS else None)
    cell_of = _level_cells(levels, bins)
    cells = np.zeros((strata.count, bins.cells), np.intp)
    np.add.at(cells.T, cell_of, by_level.T)
    base = _profile("categorical", counts[:, 0], cells, int(seen.sum()))
    return replace(base, new_levels=_new_levels(levels, np.where(cell_of == bins.cells - 1, seen, 0)))


def boolean_column(values: pa.Array[Any], strata: Strata) -> ColumnProfile:
    """The profile of booleans, or of integers that mean them."""
    counts = strata.counts(boolean_cells(values) + 1, len(BOOLEAN_CELLS) + 1)
    return _profile("boolean", counts[:, 0], counts[:, 1:], int(counts[:, 1:].sum()))


def boolean_cells(values: pa.Array[Any]) -> Cells:
    """0 false, 1 true, 2 an integer that is neither, -1 null; shape [rows]."""
    whole: Any = pc.cast(values, pa.int8()) if pa.types.is_boolean(values.type) else values
    plain = pc.fill_null(whole, pa.scalar(0, whole.type)).to_numpy(zero_copy_only=False)
    cells = np.where(plain == 0, 0, np.where(plain == 1, 1, 2)).astype(np.intp)
    cells[np.asarray(values.is_null())] = -1
    return cells


def _profile(kind: Kind, nulls: Cells, cells: Cells, finite: int) -> ColumnProfile:
    """Nulls, shape [strata], and cells, shape [strata, cells], as a profile; levels are never NaN or infinite."""
    specials = np.zeros((len(nulls), len(SPECIALS)), np.intp)
    specials[:, 0] = nulls
    return ColumnProfile(kind=kind, specials=as_tuples(specials), counts=as_tuples(cells), finite=finite)


def _places(values: Any) -> tuple[Cells, pa.Array[Any]]:
    """(place of each row's level, counted from 1, 0 for null; the distinct levels as text)."""
    if pa.types.is_dictionary(values.type):
        # A dictionary may itself hold repeated, null or unused levels.
        own, levels = _places(values.dictionary)
        return np.append(0, own)[_from_one(values.indices)], levels
    if not pa.types.is_string(values.type):
        values = pc.cast(values, pa.string())
    encoded = values.dictionary_encode()
    return _from_one(encoded.indices), encoded.dictionary


def _from_one(indices: Any) -> Cells:
    plain = pc.fill_null(indices, pa.scalar(-1, indices.type)) if indices.null_count else indices
    shifted: Cells = plain.to_numpy(zero_copy_only=False).astype(np.intp)
    shifted += 1
    return shifted


def _level_cells(levels: pa.Array[Any], bins: LevelBins) -> Cells:
    """Cell of each distinct level, shape [levels]."""
    other, new = bins.cells - 2, bins.cells - 1
    tracked: Any = pc.index_in(levels, value_set=pa.array(bins.tracked, pa.string()))
    cells = pc.fill_null(tracked, -1).to_numpy(zero_copy_only=False).astype(np.intp)
    if bins.known is None:
        return np.where(cells >= 0, cells, other)
    known = np.asarray(pc.is_in(levels, value_set=pa.array(bins.known, pa.string())))
    return np.where(cells >= 0, cells, np.where(known, other, new))


def _new_levels(levels: pa.Array[Any], counts: Cells) -> tuple[tuple[str, int], ...]:
    """The first by text of the levels with a count."""
    pairs = ((levels[place].as_py(), int(counts[place])) for place in np.flatnonzero(counts).tolist())
    return tuple(heapq.nsmallest(MAX_NEW_LEVELS, pairs))
