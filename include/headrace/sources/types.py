"""The declared column types as Arrow types."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headrace.spec.columns import Column

_ARROW: Final[dict[str, pa.DataType]] = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp[us]": pa.timestamp("us"),
    "timestamp[us, UTC]": pa.timestamp("us", tz="UTC"),
    "decimal(18, 4)": pa.decimal128(18, 4),
    "binary": pa.binary(),
}


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type of a declared column."""
    return _ARROW[column.type]


def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """The declared columns in declared order, all nullable."""
    return pa.schema([pa.field(column.name, arrow_type(column)) for column in columns])
