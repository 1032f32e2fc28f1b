"""Count a table once, batch by batch, into a profile. Vectorised, and bounded in memory by one batch.

Cells are counted by comparing with each edge rather than by binary search: with the dozen edges of a histogram this is ten
times faster, because it has no branches (1M values: 2 ms against 18 ms).

Types are judged on the Arrow schema against the *declared* kind, never on a data-frame library's type names, so integers
with and without nulls, and a dictionary-encoded text, get the verdict their values deserve.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.quality.bins import BOOLEAN_CELLS, Bins, ColumnBins, LevelBins, NumericBins, bins_of
from headrace.quality.exact import exact_sums
from headrace.quality.profile import ALL, MAX_FREE_LEVELS, MAX_NEW_LEVELS, SPECIALS, STRATA, ColumnProfile, Profile, merge
from headrace.spec.canonical import digest_of
from headrace.spec.quality import Column, Kind, ProfilePlan

_BATCH_ROWS: Final = 1 << 17
_FEW_EDGES: Final = 40

Cells = npt.NDArray[np.intp]
Rows = pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch]


def profile_table(data: Rows, plan: ProfilePlan, *, code_fingerprint: str, bins: Bins | None = None) -> Profile:
    """The profile of all rows of `data`.

    Args:
        data: a table, a batch, or batches in any order and of any length; the profile is the same.
        bins: the frozen bins of the reference this profile will be compared with.
        code_fingerprint: identity of the code that computed the values; compared profiles must agree on it.
    """
    frozen = Bins(columns={}) if bins is None else bins
    total = empty_profile(plan, code_fingerprint=code_fingerprint, bins=bins)
    for batch in _batches(data):
        total = merge(total, _profile_batch(batch, plan, frozen, total))
    return total


def empty_profile(plan: ProfilePlan, *, code_fingerprint: str, bins: Bins | None = None) -> Profile:
    """The profile of no rows: the neutral element of `merge`."""
    strata = ALL if plan.sampling is None else STRATA
    frozen = Bins(columns={}) if bins is None else bins
    return Profile(
        plan_digest=digest_of(plan),
        bins_digest=None if bins is None else bins.digest,
        code_fingerprint=code_fingerprint,
        sampling=plan.sampling,
        rows=0,
        strata=strata,
        stratum_rows=(0,) * len(strata),
        columns={column.name: _empty_column(column, bins_of(column, frozen), len(strata)) for column in plan.columns},
    )


def _batches(data: Rows) -> Iterable[pa.RecordBatch]:
    if isinstance(data, pa.Table):
        yield from data.to_batches(max_chunksize=_BATCH_ROWS)
        return
    for batch in [data] if isinstance(data, pa.RecordBatch) else data:
        for start in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(start, _BATCH_ROWS)


def _profile_batch(batch: pa.RecordBatch, plan: ProfilePlan, bins: Bins, like: Profile) -> Profile:
    strata = _strata(batch, plan)
    return Profile(
        plan_digest=like.plan_digest,
        bins_digest=like.bins_digest,
        code_fingerprint=like.code_fingerprint,
        sampling=like.sampling,
        rows=batch.num_rows,
        strata=like.strata,
        stratum_rows=_tally(strata, np.zeros(batch.num_rows, np.intp), len(like.strata), 1, column=0),
        columns={column.name: _column(batch, column, bins_of(column, bins), strata, len(like.strata)) for column in plan.columns},
    )


def _strata(batch: pa.RecordBatch, plan: ProfilePlan) -> Cells:
    """Stratum of each row, shape [rows]: 0 everywhere without sampling, else 0 negative, 1 positive, 2 unlabelled."""
    if plan.sampling is None:
        return np.zeros(batch.num_rows, np.intp)
    label = _only(batch, plan.sampling.label)
    if label is None or not _fits(label.type, "boolean"):
        return np.full(batch.num_rows, 2, np.intp)
    cells = _boolean_cells(label)
    return np.where(cells < 0, 2, cells)


def _only(batch: pa.RecordBatch, name: str) -> pa.Array[Any] | None:
    """The column of that name, None when it is absent or there are several."""
    found = batch.schema.get_all_field_indices(name)
    return batch.column(found[0]) if len(found) == 1 else None


def _fits(found: pa.DataType, kind: Kind) -> bool:
    """Whether values of that Arrow type can be read as the declared kind without guessing."""
    if kind == "numeric":
        return bool(pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found))
    if kind == "boolean":
        return bool(pa.types.is_boolean(found) or pa.types.is_integer(found))
    if pa.types.is_dictionary(found):
        return _fits(found.value_type, kind)
    text = pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    return bool(text or pa.types.is_integer(found) or pa.types.is_boolean(found) or pa.types.is_date(found))


def _empty_column(column: Column, bins: ColumnBins | None, strata: int) -> ColumnProfile:
    cells = 0 if bins is None else bins.cells
    return ColumnProfile(kind=column.kind, specials=((0,) * len(SPECIALS),) * strata, counts=((0,) * cells,) * strata)


def _column(batch: pa.RecordBatch, column: Column, bins: ColumnBins | None, strata: Cells, n_strata: int) -> ColumnProfile:
    values = _only(batch, column.name)
    empty = _empty_column(column, bins, n_strata)
    if values is None:
        types = frozenset(str(batch.schema.field(i).type) for i in batch.schema.get_all_field_indices(column.name))
        return _with(empty, types=types, absent=batch.num_rows)
    types = frozenset([str(values.type)])
    if not _fits(values.type, column.kind):
        return _with(empty, types=types, mistyped=batch.num_rows)
    if column.kind == "numeric":
        return _with(_numeric(values, bins, strata, n_strata), types=types)
    if column.kind == "boolean":
        return _with(_counted("boolean", _boolean_cells(values), len(BOOLEAN_CELLS), strata, n_strata), types=types)
    return _with(_categorical(values, bins, strata, n_strata), types=types)


def _with(profile: ColumnProfile, **changes: Any) -> ColumnProfile:
    return ColumnProfile(**{**{name: getattr(profile, name) for name in profile.__dataclass_fields__}, **changes})


def _tally(strata: Cells, cells: Cells, n_strata: int, n_cells: int, *, column: int | None = None) -> Any:
    """Counts, nested [strata][cells]; or one cell's counts, shape [strata], when `column` is given."""
    flat = cells if n_strata == 1 else strata * n_cells + cells
    counts = np.bincount(flat, minlength=n_strata * n_cells).reshape(n_strata, n_cells).tolist()
    return tuple(tuple(row) for row in counts) if column is None else tuple(row[column] for row in counts)


def _specials(strata: Cells, kinds: Cells, n_strata: int) -> tuple[tuple[int, ...], ...]:
    result: tuple[tuple[int, ...], ...] = _tally(strata, kinds, n_strata, len(SPECIALS))
    return result


def _counted(kind: Kind, cells: Cells, n_cells: int, strata: Cells, n_strata: int) -> ColumnProfile:
    """A profile of cells, shape [rows], where -1 is null."""
    present = cells >= 0
    absent = strata[~present]
    return ColumnProfile(
        kind=kind,
        specials=_specials(absent, np.zeros(len(absent), np.intp), n_strata),
        counts=_tally(strata[present], cells[present], n_strata, n_cells) if n_cells else ((),) * n_strata,
        finite=int(np.count_nonzero(present)),
    )


def _boolean_cells(values: pa.Array[Any]) -> Cells:
    """0 false, 1 true, 2 an integer that is neither, -1 null; shape [rows]."""
    whole: Any = pc.cast(values, pa.int8()) if pa.types.is_boolean(values.type) else values
    plain = pc.fill_null(whole, pa.scalar(0, whole.type)).to_numpy(zero_copy_only=False)
    cells = np.where(plain == 0, 0, np.where(plain == 1, 1, 2)).astype(np.intp)
    cells[np.asarray(values.is_null())] = -1
    return cells


def _numeric(values: pa.Array[Any], bins: ColumnBins | None, strata: Cells, n_strata: int) -> ColumnProfile:
    kept, special, special_strata, kept_strata = _finite(values, strata)
    counts: Any = ((),) * n_strata
    if isinstance(bins, NumericBins):
        counts = (
            (numeric_counts(kept, bins),)
            if n_strata == 1
            else _tally(kept_strata, numeric_cells(kept, bins), n_strata, bins.cells)
        )
    total, squares = exact_sums(kept)
    return ColumnProfile(
        kind="numeric",
        specials=_specials(special_strata, special, n_strata),
        counts=counts,
        total=total,
        squares=squares,
        minimum=Fraction(kept.min().item()) if len(kept) else None,
        maximum=Fraction(kept.max().item()) if len(kept) else None,
        finite=len(kept),
    )


def _finite(values: pa.Array[Any], strata: Cells) -> tuple[npt.NDArray[Any], Cells, Cells, Cells]:
    """(finite values, kind of each special value, their strata, strata of the finite values)."""
    plain = numbers(values)
    nulls = np.zeros(len(plain), bool) if values.null_count == 0 else np.asarray(values.is_null())
    ok = np.isfinite(plain) & ~nulls if plain.dtype.kind == "f" else ~nulls
    if ok.all():
        return plain, np.empty(0, np.intp), np.empty(0, np.intp), strata
    odd = plain[~ok]
    kinds = np.where(nulls[~ok], 0, np.where(np.isnan(odd), 1, np.where(odd > 0, 2, 3))).astype(np.intp)
    return plain[ok], kinds, strata[~ok], strata[ok]


def numbers(values: Any) -> npt.NDArray[Any]:
    """Numbers of an Arrow array, nulls as 0; integers stay integers, decimals become the nearest float."""
    if pa.types.is_decimal(values.type) or pa.types.is_float16(values.type):
        values = pc.cast(values, pa.float64(), safe=False)
    if values.null_count:
        values = pc.fill_null(values, pa.scalar(0, values.type))
    plain: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return plain.astype(np.float64) if plain.dtype.kind == "f" and plain.dtype != np.float64 else plain


def numeric_counts(values: npt.NDArray[Any], bins: NumericBins) -> tuple[int, ...]:
    """Finite values per cell, without finding the cell of each: the differences of how many are not below each edge."""
    plain = values.astype(np.float64, copy=False)
    if len(bins.edges) > _FEW_EDGES:
        return tuple(np.bincount(numeric_cells(plain, bins), minlength=bins.cells).tolist())
    above = [len(plain), *(int(np.count_nonzero(plain >= edge)) for edge in bins.edges), 0]
    return tuple(more - less for more, less in itertools.pairwise(above))


def numeric_cells(values: npt.NDArray[Any], bins: NumericBins) -> Cells:
    """Cell of each finite value, shape [n]: the number of edges not above it."""
    plain = values.astype(np.float64, copy=False)
    if len(bins.edges) > _FEW_EDGES:
        return np.searchsorted(np.asarray(bins.edges), plain, side="right").astype(np.intp)
    cells = np.zeros(len(plain), np.int8)
    for edge in bins.edges:
        cells += plain >= edge
    return cells.astype(np.intp)


def _categorical(values: pa.Array[Any], bins: ColumnBins | None, strata: Cells, n_strata: int) -> ColumnProfile:
    encoded = _encoded(values)
    indices: Any = encoded.indices
    codes = pc.fill_null(indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
    levels = encoded.dictionary
    if not isinstance(bins, LevelBins):
        free = _level_counts(levels, codes)
        base = _counted("categorical", codes, 0, strata, n_strata)
        return _with(base, free_levels=tuple(sorted(free.items())) if len(free) <= MAX_FREE_LEVELS else None)
    cell_of = _level_cells(levels, bins)
    cells = np.where(codes < 0, -1, cell_of[codes]) if len(cell_of) else codes
    base = _counted("categorical", cells, bins.cells, strata, n_strata)
    new = np.flatnonzero(cell_of == bins.cells - 1)
    return _with(base, new_levels=_new_levels(levels, codes, new))


def _encoded(values: Any) -> Any:
    """Distinct levels as text, and a code for each row; null stays null."""
    if pa.types.is_dictionary(values.type):
        # Decoded first: a dictionary may hold repeated, null or unused levels.
        values = pc.cast(values, values.type.value_type)
    if not pa.types.is_string(values.type):
        values = pc.cast(values, pa.string())
    return values.dictionary_encode()


def _level_cells(levels: pa.Array[Any], bins: LevelBins) -> Cells:
    """Cell of each distinct level, shape [levels]."""
    other, new = bins.cells - 2, bins.cells - 1
    tracked: Any = pc.index_in(levels, value_set=pa.array(bins.tracked, pa.string()))
    cells = pc.fill_null(tracked, -1).to_numpy(zero_copy_only=False).astype(np.intp)
    if bins.known is None:
        return np.where(cells >= 0, cells, other)
    known = np.asarray(pc.is_in(levels, value_set=pa.array(bins.known, pa.string())))
    return np.where(cells >= 0, cells, np.where(known, other, new))


def _level_counts(levels: pa.Array[Any], codes: Cells) -> dict[str, int]:
    counts = np.bincount(codes[codes >= 0], minlength=len(levels)).tolist()
    return {str(level): count for level, count in zip(levels.to_pylist(), counts, strict=True) if count}


def _new_levels(levels: pa.Array[Any], codes: Cells, new: Cells) -> tuple[tuple[str, int], ...]:
    if len(new) == 0:
        return ()
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    pairs = ((levels[int(i)].as_py(), int(counts[i])) for i in new)
    return tuple(heapq.nsmallest(MAX_NEW_LEVELS, pairs))
