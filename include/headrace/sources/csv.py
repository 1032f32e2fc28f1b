"""CSV, strictly: every column declared, nothing inferred, nothing coerced in silence.

Cells are read as text and then cast column by column, so that a refusal can name the row, the column, the text found and the type
expected. A text is null only where the declaration says so.
"""

from __future__ import annotations

import codecs
import csv
import io
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv

from headrace.lake.store import Buffer
from headrace.sources.errors import ObjectRefused
from headrace.sources.text_cast import FIX_SOURCE, cast_texts
from headrace.spec.formats import Csv

_LARGEST_BLOCK: Final = 1 << 30
_SHORT_BYTES: Final = 1 << 16


def decode_csv(where: str, data: Buffer, form: Csv) -> pa.Table:
    """The rows with exactly the declared columns, in declared order. Rows count from 0, the header not counted.

    Args:
        where: the object (and member), named in errors.

    Raises:
        ObjectRefused: names the object, the row, the column, the text found and the type expected.
    """
    _check_header(where, data, form)
    texts = _text_table(where, data, form)
    arrays = [cast_texts(where, _one(texts.column(column.name)), column) for column in form.columns]
    return pa.Table.from_arrays(arrays, names=[column.name for column in form.columns])


def _one(column: Any) -> pa.Array[Any]:
    array: pa.Array[Any] = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return array


def _text_table(where: str, data: Buffer, form: Csv) -> pa.Table:
    names = [column.name for column in form.columns]
    try:
        utf8 = data if _is_utf8(form.encoding) else bytes(data).decode(form.encoding).encode()
        if len(utf8) < _SHORT_BYTES and b"\n" not in bytes(utf8):
            utf8 = bytes(utf8) + b"\n"  # a header alone and unended is no rows; Arrow takes it for an empty file
        return pyarrow.csv.read_csv(
            pa.BufferReader(utf8),  # type: ignore[arg-type] # reads without a copy; the stubs know only files
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=min(max(len(utf8), 1), _LARGEST_BLOCK)),
            parse_options=pyarrow.csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[],
                strings_can_be_null=False,
                check_utf8=True,
            ),
        )
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise ObjectRefused(
            where,
            kind="unreadable CSV",
            found=str(error).splitlines()[0],
            expected="CSV rows as wide as the header",
            remedy=FIX_SOURCE,
        ) from error


def _check_header(where: str, data: Buffer, form: Csv) -> None:
    # Read by the standard library: Arrow keeps only the last of two columns of one name and says nothing.
    try:
        lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig" if _is_utf8(form.encoding) else form.encoding, newline="")
        found = next(csv.reader(lines, delimiter=form.delimiter), [])
    except (UnicodeError, csv.Error) as error:
        raise ObjectRefused(
            f"{where} header", kind="unreadable CSV", found=str(error), expected=f"{form.encoding} text", remedy=FIX_SOURCE
        ) from error
    expected = [column.name for column in form.columns]
    twice = sorted({name for name in found if found.count(name) > 1})
    lacking = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    for kind, names in (("repeated column", twice), ("missing column", lacking), ("undeclared column", extra)):
        if names:
            raise ObjectRefused(
                f"{where} header", kind=kind, found=f"{kind} {', '.join(names)}", expected=", ".join(expected), remedy=FIX_SOURCE
            )


def _is_utf8(encoding: str) -> bool:
    """UTF-8 is read as it is; it may start with a byte order mark, which is no part of the first column's name."""
    return codecs.lookup(encoding).name in {"utf-8", "utf-8-sig"}
