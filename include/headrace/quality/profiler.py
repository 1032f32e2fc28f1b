"""Count a table once, batch by batch, into a profile. Vectorised, and bounded in memory by one batch.

Types are judged on the Arrow schema against the *declared* kind, never on a data-frame library's type names, so integers
with and without nulls, and a dictionary-encoded text, get the verdict their values deserve.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.quality.bins import Bins, ColumnBins, bins_of
from headrace.quality.level_column import boolean_cells, boolean_column, level_column
from headrace.quality.numeric_column import numeric_column
from headrace.quality.profile import ALL, SPECIALS, STRATA, ColumnProfile, Profile, merge
from headrace.quality.strata import Strata
from headrace.spec.canonical import digest_of
from headrace.spec.quality import Column, Kind, ProfilePlan

_BATCH_ROWS: Final = 1 << 17

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
        stratum_rows=tuple(np.bincount(strata.of_row, minlength=strata.count).tolist()),
        columns={column.name: _column(batch, column, bins_of(column, bins), strata) for column in plan.columns},
    )


def _strata(batch: pa.RecordBatch, plan: ProfilePlan) -> Strata:
    """One stratum without sampling, else 0 negative, 1 positive, 2 unlabelled."""
    if plan.sampling is None:
        return Strata(of_row=np.zeros(batch.num_rows, np.intp), count=len(ALL))
    label = _only(batch, plan.sampling.label)
    if label is None or not _fits(label.type, "boolean"):
        return Strata(of_row=np.full(batch.num_rows, 2, np.intp), count=len(STRATA))
    cells = boolean_cells(label)
    return Strata(of_row=np.where(cells < 0, 2, cells), count=len(STRATA))


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


def _column(batch: pa.RecordBatch, column: Column, bins: ColumnBins | None, strata: Strata) -> ColumnProfile:
    values = _only(batch, column.name)
    empty = _empty_column(column, bins, strata.count)
    if values is None:
        types = frozenset(str(batch.schema.field(i).type) for i in batch.schema.get_all_field_indices(column.name))
        return replace(empty, types=types, absent=batch.num_rows)
    types = frozenset([str(values.type)])
    if not _fits(values.type, column.kind):
        return replace(empty, types=types, mistyped=batch.num_rows)
    if column.kind == "numeric":
        return replace(numeric_column(values, bins, strata), types=types)
    if column.kind == "boolean":
        return replace(boolean_column(values, strata), types=types)
    return replace(level_column(values, bins, strata), types=types)
