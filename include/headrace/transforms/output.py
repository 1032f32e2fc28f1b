"""What functions return, as the columns their declaration names: exactly those, of exactly those types. Rows: `rows.py`.

Nothing is coerced in silence: an integer is no float, a text no number, a wrong shape no tensor.
"""

from __future__ import annotations

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


def checked_batch(step: Step, found: Any, given: int) -> tuple[pa.Table, np.ndarray[Any, np.dtype[np.int64]]]:
    """A batch function's table in declared form, and which input row each row came from.

    Args:
        given: how many rows the function was given.

    Raises:
        OutputRefused: names the column, or what is wrong with `input_row`.
    """
    table = pa.Table.from_batches([found]) if isinstance(found, pa.RecordBatch) else found
    if not isinstance(table, pa.Table):
        raise refused(step, f"a {type(found).__name__}", "a pyarrow.Table")
    expected = [column.name for column in step.columns] + ([] if step.gives == "one" else [INPUT_ROW])
    if sorted(table.schema.names) != sorted(expected):
        raise refused(step, f"columns {', '.join(table.schema.names)}", ", ".join(expected))
    origin = np.arange(given) if step.gives == "one" else _input_rows(step, table, given)
    if len(origin) != table.num_rows:
        raise refused(step, f"{table.num_rows} rows for {given}", "one row for each")
    arrays = [_batch_column(step, column, table.column(column.name)) for column in step.columns]
    return pa.Table.from_arrays(arrays, schema=schema_of(step)), origin


def _input_rows(step: Step, table: pa.Table, given: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    column = table.column(INPUT_ROW)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise refused(step, f"{INPUT_ROW} of type {column.type}", "integers without nulls")
    rows = column.to_numpy().astype(np.int64)
    steps = np.diff(rows)
    ordered = bool(np.all(steps > 0 if step.gives == "filter" else steps >= 0))
    if not ordered or (len(rows) and (rows[0] < 0 or rows[-1] >= given)):
        raise refused(step, f"{INPUT_ROW} out of order, repeated or out of range", f"rows 0 to {given - 1}, in order")
    return rows


def _batch_column(step: Step, column: Column | Tensor, found: pa.ChunkedArray[Any]) -> Any:
    if isinstance(column, Column):
        if found.type != arrow_type(column):
            raise refused(step, f"column {column.name} of type {found.type}", str(arrow_type(column)))
        return found
    if isinstance(found.type, pa.FixedShapeTensorType):
        shape = tuple(found.type.shape)
        chunks: list[Any] = found.chunks
        values = np.concatenate([chunk.to_numpy_ndarray() for chunk in chunks]) if chunks else np.empty((0, *shape))
        check_tensor(step, column, str(found.type.value_type).replace("halffloat", "float16"), shape)
        return pa.chunked_array([tensor_column(values)], pa.large_binary())
    if not (pa.types.is_binary(found.type) or pa.types.is_large_binary(found.type)) or found.null_count:
        raise refused(step, f"column {column.name} of type {found.type}", "a tensor column (`tensor_column`), without nulls")
    wide = found.cast(pa.large_binary())
    for chunk in wide.chunks:
        _check_lengths(step, column, chunk)
    return wide


def _check_lengths(step: Step, column: Tensor, chunk: Any) -> None:
    sizes = np.diff(offsets_of(chunk))
    wrong = sizes % column.step_bytes != 0 if column.is_ragged else sizes != column.step_bytes
    if wrong.any():
        raise refused(step, f"column {column.name}: {sizes[wrong][0]} bytes in a row", f"{column.type} {column.shape}")


def check_tensor(step: Step, column: Tensor, kind: str, shape: tuple[int, ...]) -> None:
    """Raises `OutputRefused` unless an array of elements `kind` and this shape is what the column holds."""
    sizes = (shape[:1] if column.is_ragged else column.shape[:1]) + column.shape[1:]
    if kind != column.type or shape != sizes:
        raise refused(step, f"column {column.name}: {kind} {shape}", f"{column.type} {column.shape}")


def refused(step: Step, found: str, expected: str) -> OutputRefused:
    """The error for what a function returned."""
    return OutputRefused(
        f"Step {step.name}",
        found=found,
        expected=expected,
        remedy=f"Correct {step.function}, or the columns it is declared with.",
    )
