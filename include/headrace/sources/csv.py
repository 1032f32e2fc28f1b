"""CSV, strictly: every column declared, nothing inferred, nothing coerced in silence.

Cells are read as text and then cast column by column, so that a refusal can name the row, the column, the text found and the type
expected. A text is null only where the declaration says so.
"""

from __future__ import annotations

import csv
import io
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headrace.sources.errors import ObjectRefused
from headrace.sources.types import arrow_type
from headrace.spec.columns import Column
from headrace.spec.formats import Csv

_LARGEST_BLOCK: Final = 1 << 30
_FIX_SOURCE: Final = "Correct the object at its source and land it again, or correct the declaration."


def decode_csv(key: str, data: bytes, form: Csv) -> pa.Table:
    """The object's rows with exactly the declared columns, in declared order. Rows count from 0, the header not counted.

    Raises:
        ObjectRefused: names the object, the row, the column, the text found and the type expected.
    """
    _check_header(key, data, form)
    text = _text_table(key, data, form)
    arrays = [_cast(key, text.column(column.name).combine_chunks(), column) for column in form.columns]
    return pa.Table.from_arrays(arrays, names=[column.name for column in form.columns])


def _text_table(key: str, data: bytes, form: Csv) -> pa.Table:
    names = [column.name for column in form.columns]
    try:
        utf8 = data if form.encoding in {"utf-8", "utf8"} else data.decode(form.encoding).encode()
        return pyarrow.csv.read_csv(
            io.BytesIO(utf8),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=min(max(len(utf8), 1), _LARGEST_BLOCK)),
            parse_options=pyarrow.csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[],
                strings_can_be_null=False,
                check_utf8=True,
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise ObjectRefused(
            key,
            kind="unreadable CSV",
            found=str(error).splitlines()[0],
            expected="CSV rows as wide as the header",
            remedy=_FIX_SOURCE,
        ) from error


def _check_header(key: str, data: bytes, form: Csv) -> None:
    # Read by the standard library: Arrow keeps only the last of two columns of one name and says nothing.
    try:
        lines = io.TextIOWrapper(io.BytesIO(data), encoding=_without_mark(form.encoding), newline="")
        found = next(csv.reader(lines, delimiter=form.delimiter), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ObjectRefused(
            f"{key} header", kind="unreadable CSV", found=str(error), expected=f"{form.encoding} text", remedy=_FIX_SOURCE
        ) from error
    expected = [column.name for column in form.columns]
    twice = sorted({name for name in found if found.count(name) > 1})
    lacking = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    for kind, names in (("repeated column", twice), ("missing column", lacking), ("undeclared column", extra)):
        if names:
            raise ObjectRefused(
                f"{key} header", kind=kind, found=f"{kind} {', '.join(names)}", expected=", ".join(expected), remedy=_FIX_SOURCE
            )


def _without_mark(encoding: str) -> str:
    """UTF-8 files may start with a byte order mark, which is no part of the first column's name."""
    return "utf-8-sig" if encoding in {"utf-8", "utf8"} else encoding


def _cast(key: str, text: pa.Array[Any], column: Column) -> pa.Array[Any]:
    if column.null_text:
        is_null = pc.is_in(text, value_set=pa.array(column.null_text, pa.string()))
        text = pc.if_else(is_null, pa.scalar(None, pa.string()), text)
    target = arrow_type(column)
    if pa.types.is_string(target):
        return text
    try:
        return text.cast(target)
    except pa.ArrowInvalid as error:
        row = _first_bad_row(text, target)
        raise ObjectRefused(
            f"{key} row {row} column {column.name}",
            kind="wrong type",
            found=repr(text[row].as_py()),
            expected=column.type + (f" or {', '.join(column.null_text)}" if column.null_text else ""),
            remedy=_FIX_SOURCE,
        ) from error


def _first_bad_row(text: pa.Array[Any], target: pa.DataType) -> int:
    """Binary search for the first cell that does not cast."""
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high) // 2
        try:
            text.slice(low, middle - low + 1).cast(target)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle + 1
    return low
