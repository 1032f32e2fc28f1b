"""Entity keys as small integers: equal keys, equal codes, whatever the number of columns.

Columns are coded one by one and combined as numbers. Keys are never glued into text: ("1", "12") and ("11", "2") must
stay two entities. A key with a null part has code -1 and equals nothing, not even itself. Types must be the same on both
sides, by name: databases that compare '01' with 1 or 2**53 + 1 with 2.0**53 find matches that are not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.features.columns import Column, whole
from headrace.features.errors import SchemaError

Codes = npt.NDArray[np.int64]
NULL_KEY = -1


def shared_codes(tables: Sequence[pa.Table], columns: Sequence[str], names: Sequence[str]) -> list[Codes]:
    """One code array per table, shape (rows,), equal exactly where the keys are equal.

    Args:
        tables: the tables, in one code space.
        columns: the key columns; all tables have them.
        names: what each table is, for errors: `labels`, `log`.

    Raises:
        SchemaError: a key column is missing, is a float, or has different types in two tables.
    """
    lengths = [table.num_rows for table in tables]
    combined: Codes = np.zeros(sum(lengths), dtype=np.int64)
    null = np.zeros(sum(lengths), dtype=bool)
    for column in columns:
        parts = [key_column(table, column, name) for table, name in zip(tables, names, strict=True)]
        _same_type(column, parts, names)
        column_values = pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
        near = _near_integers(column_values)
        if near is not None and len(columns) == 1:
            return np.split(near, np.cumsum(lengths)[:-1])
        codes, distinct = value_codes(column_values)
        null |= codes < 0
        combined = _dense(combined * (distinct + 1) + codes + 1)
    combined[null] = NULL_KEY
    return np.split(combined, np.cumsum(lengths)[:-1])


def key_column(table: pa.Table, column: str, name: str) -> Column:
    """The key column in its plain type: text as string, instants as UTC. Raises SchemaError for floats and the like."""
    if column not in table.schema.names:
        raise SchemaError(f"{name}.{column}", found="no such column", expected="an entity column", remedy="Add it to the rows.")
    values = table.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return values.cast(pa.string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return values.cast(pa.timestamp(kind.unit, tz="UTC"))
    exact = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_date, pa.types.is_binary,
             pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_decimal)  # fmt: skip
    if not any(test(kind) for test in exact):
        raise SchemaError(
            f"{name}.{column}",
            found=str(kind),
            expected="an entity key that compares exactly: text, integer, boolean, date, instant, decimal or bytes",
            remedy="Cast the key in the rows function; floats are refused because 2**53 + 1 equals 2**53 there.",
        )
    return values


def value_codes(values: Column) -> tuple[Codes, int]:
    """Codes 0..distinct-1 in order of appearance, -1 for null, and how many distinct values there are."""
    encoded = cast("Any", whole(pc.dictionary_encode(values).unify_dictionaries()))
    codes = pc.fill_null(encoded.indices, NULL_KEY).to_numpy(zero_copy_only=False)
    return np.asarray(codes, dtype=np.int64), len(encoded.dictionary)


def _near_integers(values: Column) -> Codes | None:
    """Integers without null that lie close together, counted from the smallest: codes without a dictionary. None for others."""
    if not pa.types.is_integer(values.type) or pa.types.is_uint64(values.type) or values.null_count > 0 or len(values) == 0:
        return None
    numbers = np.asarray(values.to_numpy(), dtype=np.int64)
    low, high = int(numbers.min()), int(numbers.max())
    return numbers - low if high - low < 4 * numbers.size else None


def _same_type(column: str, parts: Sequence[Column], names: Sequence[str]) -> None:
    for part, name in zip(parts[1:], names[1:], strict=True):
        if part.type != parts[0].type:
            raise SchemaError(
                f"entity column {column}",
                found=f"{parts[0].type} in {names[0]} and {part.type} in {name}",
                expected="one type",
                remedy="Cast one side in its rows function: nothing is converted silently.",
            )


def _dense(codes: Codes) -> Codes:
    """Renumbered 0..n-1, so that the next column's product cannot overflow."""
    if codes.size == 0 or int(codes.max()) < 2**31:
        return codes
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
