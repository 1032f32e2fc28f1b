"""What functions return, as the columns their declaration names: exactly those, of exactly those types.

Nothing is coerced in silence: an integer is no float, a text no number, a wrong shape no tensor.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.sources.types import arrow_type
from headrace.spec.columns import Column
from headrace.spec.transform import Step, Tensor
from headrace.transforms.errors import OutputRefused
from headrace.transforms.tensors import METADATA_KEY, offsets_of, tensor_column

INPUT_ROW: Final = "input_row"


def field_of(column: Column | Tensor) -> pa.Field[Any]:
    """The stored column: a tensor is bytes that say what they are."""
    if isinstance(column, Column):
        return pa.field(column.name, arrow_type(column))
    sizes = ",".join("" if size is None else str(size) for size in column.shape)
    return pa.field(column.name, pa.large_binary(), metadata={METADATA_KEY: f"{column.type}:{sizes}"})


def schema_of(step: Step) -> pa.Schema:
    """The columns a step's samples have."""
    return pa.schema([field_of(column) for column in step.columns])


def checked_row(step: Step, row: Any) -> list[Any]:
    """One row's values in declared order, ready for `columns_of`. Raises `OutputRefused`."""
    if not isinstance(row, Mapping):
        raise _refused(step, f"a {type(row).__name__}", "a mapping from column names to values")
    if row.keys() != {column.name for column in step.columns}:
        raise _refused(step, f"columns {', '.join(map(str, row))}", ", ".join(column.name for column in step.columns))
    return [_tensor_bytes(step, column, row[column.name]) if isinstance(column, Tensor) else _single(step, column, row[column.name])
            for column in step.columns]  # fmt: skip


def columns_of(step: Step, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Rows of `checked_row` as a table."""
    arrays = [pa.array([row[position] for row in rows], field_of(column).type) for position, column in enumerate(step.columns)]
    return pa.Table.from_arrays(arrays, schema=schema_of(step))


def checked_batch(step: Step, found: Any, given: int) -> tuple[pa.Table, np.ndarray[Any, np.dtype[np.int64]]]:
    """A batch function's table in declared form, and which input row each row came from.

    Args:
        given: how many rows the function was given.

    Raises:
        OutputRefused: names the column, or what is wrong with `input_row`.
    """
    table = pa.Table.from_batches([found]) if isinstance(found, pa.RecordBatch) else found
    if not isinstance(table, pa.Table):
        raise _refused(step, f"a {type(found).__name__}", "a pyarrow.Table")
    expected = [column.name for column in step.columns] + ([] if step.gives == "one" else [INPUT_ROW])
    if sorted(table.schema.names) != sorted(expected):
        raise _refused(step, f"columns {', '.join(table.schema.names)}", ", ".join(expected))
    origin = np.arange(given) if step.gives == "one" else _input_rows(step, table, given)
    if len(origin) != table.num_rows:
        raise _refused(step, f"{table.num_rows} rows for {given}", "one row for each")
    arrays = [_batch_column(step, column, table.column(column.name)) for column in step.columns]
    return pa.Table.from_arrays(arrays, schema=schema_of(step)), origin


def _input_rows(step: Step, table: pa.Table, given: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    column = table.column(INPUT_ROW)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise _refused(step, f"{INPUT_ROW} of type {column.type}", "integers without nulls")
    rows = column.to_numpy().astype(np.int64)
    steps = np.diff(rows)
    ordered = bool(np.all(steps > 0 if step.gives == "filter" else steps >= 0))
    if not ordered or (len(rows) and (rows[0] < 0 or rows[-1] >= given)):
        raise _refused(step, f"{INPUT_ROW} out of order, repeated or out of range", f"rows 0 to {given - 1}, in order")
    return rows


def _batch_column(step: Step, column: Column | Tensor, found: pa.ChunkedArray[Any]) -> Any:
    if isinstance(column, Column):
        if found.type != arrow_type(column):
            raise _refused(step, f"column {column.name} of type {found.type}", str(arrow_type(column)))
        return found
    if isinstance(found.type, pa.FixedShapeTensorType):
        shape = tuple(found.type.shape)
        chunks: list[Any] = found.chunks
        values = np.concatenate([chunk.to_numpy_ndarray() for chunk in chunks]) if chunks else np.empty((0, *shape))
        _check_tensor(step, column, str(found.type.value_type).replace("halffloat", "float16"), shape)
        return pa.chunked_array([tensor_column(values)], pa.large_binary())
    if not (pa.types.is_binary(found.type) or pa.types.is_large_binary(found.type)) or found.null_count:
        raise _refused(step, f"column {column.name} of type {found.type}", "a tensor column (`tensor_column`), without nulls")
    wide = found.cast(pa.large_binary())
    for chunk in wide.chunks:
        _check_lengths(step, column, chunk)
    return wide


def _check_lengths(step: Step, column: Tensor, chunk: Any) -> None:
    sizes = np.diff(offsets_of(chunk))
    wrong = sizes % column.step_bytes != 0 if column.is_ragged else sizes != column.step_bytes
    if wrong.any():
        raise _refused(step, f"column {column.name}: {sizes[wrong][0]} bytes in a row", f"{column.type} {column.shape}")


def _tensor_bytes(step: Step, column: Tensor, value: Any) -> bytes:
    if not isinstance(value, np.ndarray):
        raise _refused(step, f"column {column.name}: a {type(value).__name__}", "a numpy array")
    _check_tensor(step, column, value.dtype.name, value.shape)
    return value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()


def _check_tensor(step: Step, column: Tensor, kind: str, shape: tuple[int, ...]) -> None:
    sizes = (shape[:1] if column.is_ragged else column.shape[:1]) + column.shape[1:]
    if kind != column.type or shape != sizes:
        raise _refused(step, f"column {column.name}: {kind} {shape}", f"{column.type} {column.shape}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_instant(value: Any) -> bool:
    return isinstance(value, dt.datetime)


_IS: Final[dict[str, Callable[[Any], bool]]] = {
    "bool": lambda value: isinstance(value, (bool, np.bool_)),
    "string": lambda value: isinstance(value, str),
    "binary": lambda value: isinstance(value, bytes),
    **dict.fromkeys(("int8", "int16", "int32", "int64"), _is_integer),
    **dict.fromkeys(("float32", "float64"), lambda value: isinstance(value, (float, np.floating))),
    "date": lambda value: isinstance(value, dt.date) and not _is_instant(value),
    "timestamp[us]": lambda value: _is_instant(value) and value.tzinfo is None,
    "timestamp[us, UTC]": lambda value: _is_instant(value) and value.tzinfo is not None,
    "decimal(18, 4)": lambda value: isinstance(value, decimal.Decimal),
}
"""What a value must be: Arrow itself would take True for 1, 1 for 1.0, and a naive instant for one in UTC."""


def _single(step: Step, column: Column, value: Any) -> Any:
    if value is None:
        return None
    if not _IS[column.type](value):
        raise _refused(step, f"column {column.name}: {value!r:.80} of type {type(value).__name__}", column.type)
    if column.type in {"bool", "string", "binary"}:
        return value
    try:
        return pa.scalar(value, arrow_type(column))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _refused(step, f"column {column.name}: {value!r:.80}: {error}", column.type) from error


def _refused(step: Step, found: str, expected: str) -> OutputRefused:
    return OutputRefused(
        f"Step {step.name}",
        found=found,
        expected=expected,
        remedy=f"Correct {step.function}, or the columns it is declared with.",
    )
