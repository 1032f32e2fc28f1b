"""Instants at the door: Arrow timestamps in, int64 microseconds since 1970-01-01 UTC out.

Everything behind the door counts microseconds. Nanoseconds are rounded away from leakage: an arrival *up* (it was not
there a moment earlier), an event or label time *down*. Naive timestamps name no instant and are refused, as are numbers
and text. So are instants outside 1678 to 2261: they are sentinels (9999-12-31) more often than times, and a reader that
counts nanoseconds turns them into other centuries without a word.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.features.columns import Array, integers, nulls
from headrace.features.errors import RowsError, SchemaError, row_numbers

Micros = npt.NDArray[np.int64]
INSTANT: Final = pa.timestamp("us", tz="UTC")
_PER_SECOND: Final = {"s": 1_000_000, "ms": 1_000}
_EARLIEST: Final = int(np.datetime64("1678-01-01", "us").astype(np.int64))
_LATEST: Final = int(np.datetime64("2262-01-01", "us").astype(np.int64))


def micros_of(table: pa.Table, column: str, *, rounding: Literal["up", "down"]) -> Micros:
    """The column as int64 microseconds UTC, shape (rows,).

    Raises:
        SchemaError: the column is missing, no timestamp, or a timestamp without a zone.
        RowsError: a null, or an instant outside 1678 to 2261.
    """
    if column not in table.schema.names:
        raise SchemaError(f"column {column}", found="no such column", expected="a timestamp with a zone", remedy="Add it.")
    kind = table.schema.field(column).type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        raise SchemaError(
            f"column {column}",
            found=str(kind),
            expected="a timestamp with a zone, such as timestamp[us, tz=UTC]",
            remedy="Localise it in the rows function: a time without a zone names no instant.",
        )
    values = table.column(column)
    if values.null_count > 0:
        rows = np.flatnonzero(nulls(values))
        raise RowsError(
            f"column {column}",
            found=f"null in {row_numbers(rows)}",
            expected="an instant",
            remedy="Leave out or repair the rows.",
        )
    return _plausible(column, _to_micros(integers(values), kind.unit, rounding))


def instants(micros: Micros) -> Array:
    """Microseconds as a timestamp[us, tz=UTC] array."""
    return pa.array(micros, pa.int64()).cast(INSTANT)


def _to_micros(ticks: Micros, unit: str, rounding: Literal["up", "down"]) -> Micros:
    if unit == "us":
        return ticks
    if unit == "ns":
        return -((-ticks) // 1000) if rounding == "up" else ticks // 1000
    limit = _LATEST // _PER_SECOND[unit]
    # Clipped to the last refused value before multiplying, so that far-off sentinels cannot wrap around into range.
    return np.clip(ticks, -limit - 1, limit + 1) * _PER_SECOND[unit]


def _plausible(column: str, micros: Micros) -> Micros:
    strange = np.flatnonzero((micros < _EARLIEST) | (micros >= _LATEST))
    if strange.size > 0:
        raise RowsError(
            f"column {column}",
            found=f"an instant outside 1678 to 2261 in {row_numbers(strange)}",
            expected="a real time",
            remedy="If it is a sentinel (9999-12-31 for 'open'), say in the rows function what it means.",
        )
    return micros
