"""JSON lines: every silent coercion seen in other readers has its right outcome here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from headrace.sources.errors import ObjectRefused
from headrace.sources.jsonlines import decode_json_lines
from headrace.spec.columns import columns
from headrace.spec.formats import JsonLines


def read(data: bytes, **kinds: str) -> list[dict[str, Any]]:
    return decode_json_lines("in/x.jsonl", data, JsonLines(columns=columns(**kinds))).to_pylist()


def refusal(data: bytes, **kinds: str) -> ObjectRefused:
    with pytest.raises(ObjectRefused) as caught:
        read(data, **kinds)
    assert caught.value.subject.startswith("in/x.jsonl row")
    return caught.value


def test_a_missing_name_is_null_and_blank_lines_are_no_rows() -> None:
    """Feeds leave out what they do not know."""
    assert read(b'\xef\xbb\xbf{"a": 1}\n\n{"b": "x", "a": null}', a="int64", b="string") == [
        {"a": 1, "b": None},
        {"a": None, "b": "x"},
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int64", '"1"'),
        ("int64", "1.0"),
        ("int64", "true"),
        ("int64", "18446744073709551616"),
        ("int8", "300"),
        ("float64", "18446744073709551616"),
        ("float64", "9007199254740993"),
        ("float64", "1e400"),
        ("bool", "1"),
        ("string", "1"),
        ("string", '{"b": 1}'),
        ("date", "15706"),
        ("timestamp[us]", "1356998400"),
        ("timestamp[us, UTC]", '"2013-01-01T00:00:00"'),
        ("decimal(18, 4)", "1.1"),
        ("string", '"\\ud800"'),
    ],
)
def test_a_value_of_another_type_is_refused_with_row_column_and_both_types(kind: str, value: str) -> None:
    """The second line, so that the row number is not always 0."""
    error = refusal(b"{}\n" + b'{"a": ' + value.encode() + b"}\n", a=kind)

    assert (error.kind, error.subject, error.expected) == ("wrong type", "in/x.jsonl row 1 column a", kind)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'[{"a": 1}]', "list"),
        (b"null", "NoneType"),
        (b'{"a": 1', "delimiter"),
        (b'{"a": 1, "a": 2}', "'a' more than once"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1}{"a": 2}', "Extra data"),
        (b'{"a": "\xff"}', "utf-8"),
        (b'{"a":' + b"[" * 100_000, "recursion"),
    ],
)
def test_a_line_that_is_no_json_object_is_refused(line: bytes, says: str) -> None:
    """Also where Arrow's reader would give a value, two rows, or end the process."""
    error = refusal(b'{"a": 1}\n' + line + b"\n", a="float64")

    assert (error.kind, error.subject) == ("unreadable JSON", "in/x.jsonl row 1")
    assert says in error.found


def test_an_undeclared_name_is_refused() -> None:
    """A new column of the feed is not dropped in silence."""
    error = refusal(b'{"a": 1, "new": 2}', a="int64")

    assert (error.kind, error.found) == ("undeclared column", "undeclared column new")


def test_a_date_time_text_stays_text_unless_declared() -> None:
    """No drift by content."""
    line = b'{"a": "2013-01-01T00:00:00Z"}'

    assert read(line, a="string") == [{"a": "2013-01-01T00:00:00Z"}]
    assert read(line, a="timestamp[us, UTC]") == [{"a": datetime(2013, 1, 1, tzinfo=UTC)}]


def test_integers_and_floats_stay_what_they_are() -> None:
    """Exact both ways."""
    assert read(b'{"a": 9223372036854775807, "b": 1}\n{"b": 0.1}', a="int64", b="float64") == [
        {"a": 2**63 - 1, "b": 1.0},
        {"a": None, "b": 0.1},
    ]
