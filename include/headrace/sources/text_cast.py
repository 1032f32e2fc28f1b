"""From texts to declared types, strictly: what a person would not read as that type is refused, with its row.

Arrow's own casts are a little generous (`0x1F` is an integer, `1` a boolean, `1e400` infinity, a date an instant at midnight), so each
type first says which texts it takes.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.sources.errors import ObjectRefused
from headrace.sources.first_bad import first_bad
from headrace.sources.types import arrow_type
from headrace.spec.columns import Column

FIX_SOURCE: Final = "Correct the object at its source and land it again, or correct the declaration."
_INFINITY: Final = r"(?i)^[+-]?inf(inity)?$"


def cast_texts(where: str, texts: pa.Array[Any], column: Column, *, first_row: int = 0) -> pa.Array[Any]:
    """A column of texts as its declared type; the declared null texts become null.

    Args:
        where: the object (and member), named in the refusal.
        first_row: row number of the first text.

    Raises:
        ObjectRefused: names the row, the column, the text found and the type expected.
    """
    if column.null_text:
        is_null = pc.is_in(texts, value_set=pa.array(column.null_text, pa.string()))
        texts = pc.if_else(is_null, pa.scalar(None, pa.string()), texts)
    target = arrow_type(column)
    if pa.types.is_string(target):
        return texts
    pattern = _pattern(target)
    if pattern is not None:
        _refuse_first(where, texts, column, pc.invert(pc.match_substring_regex(texts, pattern)), first_row)
    try:
        values = texts.cast(target)
    except pa.ArrowInvalid as error:
        row = first_bad(texts, target)
        raise wrong_type(where, first_row + row, column, repr(texts[row].as_py())) from error
    if pa.types.is_floating(target):
        overflow = pc.and_(pc.is_inf(values), pc.invert(pc.match_substring_regex(texts, _INFINITY)))
        _refuse_first(where, texts, column, overflow, first_row)
    return values


def wrong_type(where: str, row: int, column: Column, found: str) -> ObjectRefused:
    """The refusal of one value."""
    expected = column.type + (f" or {', '.join(column.null_text)}" if column.null_text else "")
    return ObjectRefused(
        f"{where} row {row} column {column.name}", kind="wrong type", found=found, expected=expected, remedy=FIX_SOURCE
    )


def _pattern(target: pa.DataType) -> str | None:
    """Which texts may be cast to this type at all."""
    if pa.types.is_integer(target):
        return r"^-?[0-9]+$"
    if pa.types.is_boolean(target):
        return r"(?i)^(true|false)$"
    return r"[0-9]:[0-9]" if pa.types.is_timestamp(target) else None


def _refuse_first(where: str, texts: pa.Array[Any], column: Column, bad: pa.Array[Any], first_row: int) -> None:
    row = pc.index(bad, pa.scalar(True)).as_py()  # noqa: FBT003 - the value looked for
    if row >= 0:
        raise wrong_type(where, first_row + row, column, repr(texts[row].as_py()))
