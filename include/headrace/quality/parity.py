"""Served against recomputed, value by value: the only test that finds a permutation of rows or a flipped sign.

The live rows hold what the model was given; the same features are computed again from the snapshots that were published at the time
of each request. They must be equal: null with null, integers, texts and booleans exactly, numbers within a relative
difference. Counts add up over days; examples are the first few in row order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.spec.live import Parity

_EXAMPLES: Final = 5


@dataclass(frozen=True, kw_only=True)
class ParityCounts:
    """Rows compared, rows that differ, and a few of those as `row 17: 3.5 served, 4.5 recomputed`."""

    rows: int
    different: int
    examples: tuple[str, ...] = ()


def count_parity(table: pa.Table, item: Parity) -> ParityCounts:
    """Compare a feature's recomputed column with its served column.

    Raises:
        ValueError: a column is absent, or the two have types that cannot be compared.
    """
    absent = [name for name in (item.column, item.served_column) if table.schema.names.count(name) != 1]
    if absent:
        raise ValueError(f"the live rows have no column {', '.join(absent)}")
    again: Any = table[item.column].combine_chunks()
    served: Any = table[item.served_column].combine_chunks()
    differs = np.flatnonzero(_different(again, served, item.tolerance))
    examples = tuple(
        f"row {row}: {served[row].as_py()!r} served, {again[row].as_py()!r} recomputed" for row in differs[:_EXAMPLES].tolist()
    )
    return ParityCounts(rows=table.num_rows, different=len(differs), examples=examples)


def _different(again: Any, served: Any, tolerance: float) -> Any:
    """Shape [rows], true where the two differ."""
    nulls = np.asarray(again.is_null()), np.asarray(served.is_null())
    one_null = nulls[0] != nulls[1]
    if pa.types.is_floating(again.type) or pa.types.is_floating(served.type):
        a, b = (np.asarray(pc.fill_null(pc.cast(side, pa.float64()), 0.0)) for side in (again, served))
        both_nan = np.isnan(a) & np.isnan(b)
        finite = np.isfinite(a) & np.isfinite(b)  # nothing finite is near an infinity
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(a - b) <= tolerance * np.maximum(np.abs(a), np.abs(b))
        close = (a == b) | (finite & near)
        return one_null | ~(nulls[0] | close | both_nan)
    try:
        equal = pc.equal(again, served)
    except pa.ArrowNotImplementedError as error:
        raise ValueError(f"{again.type} recomputed and {served.type} served cannot be compared") from error
    return one_null | ~(nulls[0] | np.asarray(pc.fill_null(equal, pa.scalar(value=True))))
