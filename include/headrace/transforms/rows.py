"""What a function gives for one sample: a row of exactly the declared columns, and many such rows as a table.

Which check a column needs is chosen once a step, not once a row: on small samples a check costs as much as a hash. The value nearly
every row has (an int in range, an array of the declared type and shape) is told by one comparison; whatever else the type allows takes
the slow way through Arrow's own conversion, which also says what is wrong.
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
from headrace.transforms.output import check_tensor, field_of, refused, schema_of

Check = Callable[[Any], Any]
"""A value as it may be stored, or `OutputRefused`."""


def row_checker(step: Step) -> Callable[[Any], list[Any]]:
    """How a row of this step is checked: its values in declared order, ready for `columns_of`; it raises `OutputRefused`.

    Arrays are copied: a function may fill the same one for every sample.
    """
    expected = {column.name for column in step.columns}
    checks = [(column.name, _check_of(step, column)) for column in step.columns]

    def checked(row: Any) -> list[Any]:
        if not isinstance(row, (dict, Mapping)):  # a dict is told faster than any mapping
            raise refused(step, f"a {type(row).__name__}", "a mapping from column names to values")
        if row.keys() != expected:
            raise refused(step, f"columns {', '.join(map(str, row))}", ", ".join(column.name for column in step.columns))
        return [check(row[name]) for name, check in checks]

    return checked


def columns_of(step: Step, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Checked rows as a table."""
    arrays = [_array([row[position] for row in rows], field_of(column).type) for position, column in enumerate(step.columns)]
    return pa.Table.from_arrays(arrays, schema=schema_of(step))


def _array(values: list[Any], kind: Any) -> Any:
    if kind != pa.large_binary():
        return pa.array(values, kind)
    # Tensors, never null: joined at once, for a builder that grows copies what it has again and again.
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(b"".join(values))]
    return pa.LargeBinaryArray.from_buffers(kind, len(values), buffers)


def _check_of(step: Step, column: Column | Tensor) -> Check:
    if isinstance(column, Tensor):
        return _tensor_check(step, column)
    if column.type in _RANGES:
        least, most = _RANGES[column.type]
        return lambda value: value if type(value) is int and least <= value <= most else _single(step, column, value)
    if column.type == "string":
        return lambda value: value if type(value) is str and value.isascii() else _single(step, column, value)
    if column.type in _PLAIN:
        plain = _PLAIN[column.type]
        return lambda value: value if type(value) is plain else _single(step, column, value)
    return lambda value: _single(step, column, value)


def _tensor_check(step: Step, column: Tensor) -> Check:
    kind = np.dtype(column.type).newbyteorder("<")

    def check(value: Any) -> bytes:
        if type(value) is np.ndarray and value.dtype == kind and value.shape == column.shape:
            return value.tobytes()
        if not isinstance(value, np.ndarray):
            raise refused(step, f"column {column.name}: a {type(value).__name__}", "a numpy array")
        check_tensor(step, column, value.dtype.name, value.shape)
        return value.astype(kind, copy=False).tobytes()

    return check


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_instant(value: Any) -> bool:
    return isinstance(value, dt.datetime)


_RANGES: Final = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
_PLAIN: Final[dict[str, type]] = {"bool": bool, "binary": bytes, "float32": float, "float64": float}
_AS_IT_IS: Final = frozenset({"bool", "string", "binary"})
_IS: Final[dict[str, Callable[[Any], bool]]] = {
    "bool": lambda value: isinstance(value, (bool, np.bool_)),
    "string": lambda value: isinstance(value, str),
    "binary": lambda value: isinstance(value, bytes),
    **dict.fromkeys(_RANGES, _is_integer),
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
        raise refused(step, f"column {column.name}: {value!r:.80} of type {type(value).__name__}", column.type)
    try:
        if column.type in _AS_IT_IS:
            if isinstance(value, str):
                value.encode()  # half a surrogate pair is no text Arrow can hold
            return value
        return pa.scalar(value, arrow_type(column))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise refused(step, f"column {column.name}: {value!r:.80}: {error}", column.type) from error
