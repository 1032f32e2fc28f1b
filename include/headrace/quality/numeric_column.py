"""A numeric column of one batch, counted: missing and infinite values, cells, exact sums, extremes.

Cells are counted by comparing with each edge rather than by binary search: with the dozen edges of a histogram this is ten
times faster, because it has no branches (1M values: 2 ms against 18 ms).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.quality.bins import ColumnBins, NumericBins
from headrace.quality.exact import exact_sums
from headrace.quality.profile import SPECIALS, ColumnProfile
from headrace.quality.strata import Cells, Strata

_FEW_EDGES: Final = 40


def numeric_column(values: pa.Array[Any], bins: ColumnBins | None, strata: Strata) -> ColumnProfile:
    """The profile of integers, floats or decimals."""
    kept, kept_strata, specials = _finite(values, strata)
    total, squares = exact_sums(kept)
    return ColumnProfile(
        kind="numeric",
        specials=specials,
        counts=_cell_counts(kept, bins, kept_strata) if isinstance(bins, NumericBins) else ((),) * strata.count,
        total=total,
        squares=squares,
        minimum=Fraction(kept.min().item()) if len(kept) else None,
        maximum=Fraction(kept.max().item()) if len(kept) else None,
        finite=len(kept),
    )


def numbers(values: Any) -> npt.NDArray[Any]:
    """Numbers of an Arrow array, nulls as 0; integers stay integers, decimals become the nearest float."""
    if pa.types.is_decimal(values.type) or pa.types.is_float16(values.type):
        values = pc.cast(values, pa.float64(), safe=False)
    if values.null_count:
        values = pc.fill_null(values, pa.scalar(0, values.type))
    plain: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return plain.astype(np.float64) if plain.dtype.kind == "f" and plain.dtype != np.float64 else plain


def _finite(values: pa.Array[Any], strata: Strata) -> tuple[npt.NDArray[Any], Strata, tuple[tuple[int, ...], ...]]:
    """(finite values, the strata of their rows, counts of all others by stratum and kind)."""
    plain = numbers(values)
    nulls = np.zeros(len(plain), bool) if values.null_count == 0 else np.asarray(values.is_null())
    ok = np.isfinite(plain) & ~nulls if plain.dtype.kind == "f" else ~nulls
    if ok.all():
        return plain, strata, ((0,) * len(SPECIALS),) * strata.count
    odd = plain[~ok]
    kinds = np.where(nulls[~ok], 0, np.where(np.isnan(odd), 1, np.where(odd > 0, 2, 3)))
    return plain[ok], strata.where(ok), strata.where(~ok).tally(kinds, len(SPECIALS))


def _cell_counts(values: npt.NDArray[Any], bins: NumericBins, strata: Strata) -> tuple[tuple[int, ...], ...]:
    """Finite values by stratum and cell; without strata there is no need to know the cell of each."""
    plain = values.astype(np.float64, copy=False)
    if strata.count > 1 or len(bins.edges) > _FEW_EDGES:
        return strata.tally(_cells(plain, bins), bins.cells)
    not_below = [len(plain), *(int(np.count_nonzero(plain >= edge)) for edge in bins.edges), 0]
    return (tuple(more - less for more, less in itertools.pairwise(not_below)),)


def _cells(values: npt.NDArray[np.float64], bins: NumericBins) -> Cells:
    """Cell of each value, shape [n]: the number of edges not above it."""
    if len(bins.edges) > _FEW_EDGES:
        return np.searchsorted(np.asarray(bins.edges), values, side="right").astype(np.intp)
    cells = np.zeros(len(values), np.int8)
    for edge in bins.edges:
        cells += values >= edge
    return cells.astype(np.intp)
