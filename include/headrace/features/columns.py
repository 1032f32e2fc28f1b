"""Arrow columns and numpy arrays, and the few steps between them that the algorithms need.

A position of -1 stands for "no row" everywhere: `picked` turns it into null without turning integers into floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Array: TypeAlias = "pa.Array[Any]"
Column: TypeAlias = "pa.ChunkedArray[Any]"
Rows: TypeAlias = npt.NDArray[np.int64]
"""Row positions, -1 for no row."""
Flags: TypeAlias = npt.NDArray[np.bool_]


def picked(column: Column | Array, rows: Rows) -> Array:
    """The column's values at `rows`, null where a row is negative. Shape and type: rows', the column's."""
    positions = pa.array(rows, pa.int64(), mask=rows < 0)
    return whole(column.take(positions))


def whole(column: Column | Array) -> Array:
    """One contiguous array. Raises pa.ArrowInvalid above 2 GiB of text in one column."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return cast("Array", pa.concat_arrays(column.chunks) if column.num_chunks > 0 else pa.array([], column.type))


def flags(column: Column | Array) -> Flags:
    """A boolean column as numpy, null as false."""
    filled = pc.fill_null(cast("Any", column), False)  # noqa: FBT003  pyarrow takes the value by position only
    return cast("Flags", filled.to_numpy(zero_copy_only=False) if isinstance(filled, pa.Array) else filled.to_numpy())


def nulls(column: Column | Array) -> Flags:
    """Where the column is null."""
    return flags(pc.is_null(cast("Any", column)))


def integers(column: Column | Array) -> npt.NDArray[np.int64]:
    """An integer or timestamp column as int64, null as 0. Raises pa.ArrowInvalid for a value outside int64."""
    plain = cast("Any", column.cast(pa.int64()))
    filled = pc.fill_null(plain, 0)
    return np.asarray(filled.to_numpy(), dtype=np.int64)


def sort_order(table: pa.Table, columns: Sequence[str]) -> Rows:
    """Row positions sorted ascending by the columns. Raises what pyarrow raises for types that have no order."""
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in columns])
    return np.asarray(order.to_numpy(), dtype=np.int64)


def table_of(columns: Mapping[str, Column | Array]) -> pa.Table:
    """A table of the columns, in their order."""
    return pa.table(cast("dict[str, Any]", dict(columns)))


def words(names: Sequence[str], positions: Rows) -> Array:
    """For each position the name, null where it is negative."""
    return picked(cast("Array", pa.array([str(name) for name in names], pa.string())), positions)
