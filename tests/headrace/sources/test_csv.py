"""CSV: every silent coercion seen in other readers has its right outcome here."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from headrace.sources.csv import decode_csv
from headrace.sources.errors import ObjectRefused
from headrace.spec.columns import Column
from headrace.spec.formats import Csv


def read(data: bytes, kind: str = "string", **options: Any) -> list[Any]:
    """The one column `v` of an object."""
    column = Column(name="v", type=kind, null_text=options.pop("null_text", ()))
    return decode_csv("in/x.csv", data, Csv(columns=(column,), **options)).column("v").to_pylist()


def refusal(data: bytes, kind: str = "string", **options: Any) -> ObjectRefused:
    with pytest.raises(ObjectRefused) as caught:
        read(data, kind, **options)
    assert caught.value.subject.startswith("in/x.csv")
    return caught.value


def test_a_byte_order_mark_is_no_part_of_the_first_column() -> None:
    """It is stripped."""
    assert read(b"\xef\xbb\xbfv\nx\n") == ["x"]


def test_latin_1_is_read_when_declared_and_refused_when_not() -> None:
    """Never turned into bytes."""
    assert read("v\ncaf\u00e9\n".encode("latin-1"), encoding="latin-1") == ["caf\u00e9"]
    assert refusal("v\ncaf\u00e9\n".encode("latin-1")).kind == "unreadable CSV"


def test_utf_16_is_read_when_declared_and_refused_when_not() -> None:
    """No guess by byte order marks."""
    assert read("v\nx\n".encode("utf-16"), encoding="utf-16") == ["x"]
    assert refusal("v\nx\n".encode("utf-16")).kind == "unreadable CSV"


def test_a_header_alone_is_no_rows() -> None:
    """A fact, not a fault."""
    assert read(b"v\n") == []
    assert read(b"v") == []


def test_a_ragged_row_refuses_the_object() -> None:
    """Never padded, never cut."""
    assert refusal(b"v\na\nb,c\n").kind == "unreadable CSV"


def test_a_repeated_header_is_refused_by_name() -> None:
    """Arrow would keep the last of them."""
    error = refusal(b"v,v\n1,2\n")
    assert (error.kind, error.found) == ("repeated column", "repeated column v")


def test_leading_zeros_stay_in_a_string() -> None:
    """`00123` is not 123."""
    assert read(b"v\n00123\n") == ["00123"]


def test_a_20_digit_integer_is_refused_with_its_row() -> None:
    """Never 1e20."""
    error = refusal(b"v\n1\n10000000000000000000\n", "int64")
    assert (error.subject, error.found) == ("in/x.csv row 1 column v", "'10000000000000000000'")


def test_na_is_text_unless_declared_null() -> None:
    """Null only where the declaration says so."""
    assert read(b"v\nNA\n") == ["NA"]
    assert read(b"v\nNA\n", null_text=("NA",)) == [None]
    assert read(b"v\nNA\n7\n", "int64", null_text=("NA",)) == [None, 7]


def test_an_empty_cell_is_an_empty_text() -> None:
    """Not a null; in a number column it is refused."""
    assert read(b'v\n""\n') == [""]
    assert refusal(b'v\n""\n', "int64").kind == "wrong type"


def test_quotes_hold_delimiters_and_line_ends() -> None:
    """One cell, one row."""
    assert read(b'v\n"a,b\nc ""d"""\n') == ['a,b\nc "d"']


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int64", "-7", -7),
        ("int8", "127", 127),
        ("float64", "1.5e3", 1500.0),
        ("float64", "inf", float("inf")),
        ("bool", "TRUE", True),
        ("date", "2013-01-05", datetime(2013, 1, 5, tzinfo=UTC).date()),
        ("timestamp[us]", "2013-01-05T01:02:03.000004", datetime(2013, 1, 5, 1, 2, 3, 4)),  # noqa: DTZ001 - a zoneless column
        ("timestamp[us, UTC]", "2013-01-05T01:02:03+01:00", datetime(2013, 1, 5, 0, 2, 3, tzinfo=UTC)),
        ("decimal(18, 4)", "1.2500", Decimal("1.2500")),
    ],
)
def test_texts_that_are_of_the_declared_type(kind: str, text: str, value: object) -> None:
    """Read exactly."""
    assert read(f"v\n{text}\n".encode(), kind) == [value]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int64", "0x1F"),
        ("int64", "1.0"),
        ("int64", " 1"),
        ("int64", "1_000"),
        ("int8", "128"),
        ("float64", "1e400"),
        ("float64", "1,5"),
        ("bool", "1"),
        ("bool", "yes"),
        ("date", "05/01/2013"),
        ("timestamp[us]", "2013-01-05"),
        ("timestamp[us]", "2013-01-05T00:00:00Z"),
        ("timestamp[us, UTC]", "2013-01-05T00:00:00"),
        ("timestamp[us]", "2013-01-05T00:00:00.1234567"),
        ("decimal(18, 4)", "1.23456"),
    ],
)
def test_texts_that_are_not_are_refused_with_row_and_type(kind: str, text: str) -> None:
    """Nothing is rounded, truncated, shifted or guessed."""
    error = refusal(f'v\n"{text}"\n'.encode(), kind)

    assert (error.kind, error.subject, error.found, error.expected) == ("wrong type", "in/x.csv row 0 column v", repr(text), kind)


def test_the_first_bad_row_of_many_is_named() -> None:
    """Found by its number in the file."""
    rows = b"".join(b"%d\n" % n if n != 7654 else b"x\n" for n in range(10_000))

    assert refusal(b"v\n" + rows, "int64").subject == "in/x.csv row 7654 column v"
