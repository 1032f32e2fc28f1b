"""JSON lines, strictly: one object a line, every name declared, every value of the declared type.

Each line is parsed by the standard library. Arrow's JSON reader is faster, but it kills the process on a line that holds `null`, gives
a text without a zone a zone, rounds integers above 2**53 into a float column and accepts NaN, all measured on pyarrow 26.0.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NoReturn

import pyarrow as pa

from headrace.lake.store import Buffer
from headrace.sources.errors import ObjectRefused
from headrace.sources.text_cast import FIX_SOURCE, cast_texts, wrong_type
from headrace.sources.types import arrow_type
from headrace.spec.columns import Column
from headrace.spec.formats import JsonLines

_LARGEST_EXACT: Final = 2**53
_MARK: Final = b"\xef\xbb\xbf"


def decode_json_lines(where: str, data: Buffer, form: JsonLines) -> pa.Table:
    """The rows with exactly the declared columns, in declared order. Rows count from 0; blank lines are no rows.

    Args:
        where: the object (and member), named in errors.

    Raises:
        ObjectRefused: names the object, the row, the column, the value found and the type expected.
    """
    names = [column.name for column in form.columns]
    known = frozenset(names)
    values: list[list[Any]] = [[] for _ in names]
    row = 0
    for line in bytes(data).removeprefix(_MARK).split(b"\n"):
        if not line.strip():
            continue
        fields = _object(where, row, line, known)
        for name, cells in zip(names, values, strict=True):
            cells.append(fields.get(name))
        row += 1
    arrays = [_typed(where, cells, column) for cells, column in zip(values, form.columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def _object(where: str, row: int, line: bytes, known: frozenset[str]) -> dict[str, Any]:
    try:
        # Decoded here: the JSON module would guess the encoding from zero bytes, as RFC 4627 once had it.
        fields = json.loads(line.decode(), object_pairs_hook=_each_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, row, str(error).splitlines()[0]) from error
    if not isinstance(fields, dict):
        raise _unreadable(where, row, f"a JSON {type(fields).__name__}")
    if not known.issuperset(fields):
        extra = sorted(set(fields) - known)
        raise ObjectRefused(
            f"{where} row {row}",
            kind="undeclared column",
            found=f"undeclared column {', '.join(extra)}",
            expected=", ".join(sorted(known)),
            remedy=FIX_SOURCE,
        )
    return fields


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} more than once")
    return fields


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text}, which is not JSON")


def _unreadable(where: str, row: int, found: str) -> ObjectRefused:
    return ObjectRefused(
        f"{where} row {row}", kind="unreadable JSON", found=found, expected="one JSON object in UTF-8", remedy=FIX_SOURCE
    )


def _typed(where: str, cells: list[Any], column: Column) -> pa.Array[Any]:
    target = arrow_type(column)
    takes, from_text = _taking(target)
    for row, cell in enumerate(cells):
        if cell is not None and not takes(cell):
            raise wrong_type(where, row, column, f"{json.dumps(cell)[:80]} ({type(cell).__name__})")
    if from_text:
        return cast_texts(where, pa.array(cells, pa.string()), column)
    try:
        return pa.array(cells, target)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError) as error:
        row = next(n for n, cell in enumerate(cells) if not _fits(cell, target))
        raise wrong_type(where, row, column, json.dumps(cells[row])[:80]) from error


def _taking(target: pa.DataType) -> tuple[Callable[[Any], bool], bool]:
    """Which JSON values a column takes, and whether they are texts to be cast."""
    if pa.types.is_boolean(target):
        return (lambda cell: isinstance(cell, bool)), False
    if pa.types.is_integer(target):
        return (lambda cell: isinstance(cell, int) and not isinstance(cell, bool)), False
    if pa.types.is_floating(target):
        return _is_exact_float, False
    return (lambda cell: isinstance(cell, str)), not pa.types.is_string(target)


def _is_exact_float(cell: Any) -> bool:
    if isinstance(cell, bool):
        return False
    if isinstance(cell, int):
        return abs(cell) <= _LARGEST_EXACT
    return isinstance(cell, float) and abs(cell) != float("inf")  # 1e400 is read as infinity


def _fits(cell: Any, target: pa.DataType) -> bool:
    try:
        pa.array([cell], target)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        return False
    return True
