"""Identity and digest of a sample, spelled out."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from headrace.shards.samples import Payload, digests_of, payload_rows, position_ids, shard_schema, with_identity
from headrace.sources.decode import PAYLOAD
from headrace.sources.inventory import SourceObject
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = SourceObject(key="in/a.csv", size_bytes=9, etag="e1")


def short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def test_the_id_of_a_position() -> None:
    """Key and row; a member when there is one; nothing of the content."""
    assert position_ids("in/a.csv", 2) == [short(b"source\0in/a.csv\x000"), short(b"source\0in/a.csv\x001")]
    assert position_ids("in/a.tar", 1, "m/x") == [short(b"member\0in/a.tar\0m/x\x000")]


def test_the_id_of_a_declared_key() -> None:
    """Its values, framed; the same wherever the row stands."""
    rows = pa.table({"n": pa.array([7], pa.int64()), "s": ["x"], "other": [1]})

    table = with_identity(SOURCE, rows, ("s", "n"))

    assert table["sample_id"].to_pylist() == [short(b"key\0" + b"1:x" + b"1:7")]


FRAMES: dict[str, tuple[pa.DataType, Any, bytes]] = {
    "null": (pa.string(), None, b"n"),
    "empty text": (pa.string(), "", b"0:"),
    "text": (pa.string(), "é", b"2:\xc3\xa9"),
    "large text": (pa.large_string(), "x", b"1:x"),
    "bytes": (pa.binary(), b"\0", b"1:\0"),
    "fixed bytes": (pa.binary(2), b"ab", b"2:ab"),
    "integer": (pa.int64(), -7, b"2:-7"),
    "unsigned": (pa.uint64(), 2**64 - 1, b"20:18446744073709551615"),
    "boolean": (pa.bool_(), True, b"4:true"),
    "float": (pa.float64(), 0.1, b"19:4591870180066957722"),
    "minus zero": (pa.float64(), -0.0, b"20:-9223372036854775808"),
    "half": (pa.float32(), 0.5, b"10:1056964608"),
    "date": (pa.date32(), date(2013, 1, 1), b"5:15706"),
    "instant": (pa.timestamp("us", tz="UTC"), datetime(2013, 1, 1, tzinfo=UTC), b"16:1356998400000000"),
    "decimal": (pa.decimal128(18, 4), Decimal("1.25"), b"6:1.2500"),
    "decimal, tiny": (pa.decimal128(18, 8), Decimal("0.00000001"), b"4:1E-8"),
    "decimal, nothing": (pa.decimal128(18, 8), Decimal(0), b"4:0E-8"),
    "decimal, hundreds": (pa.decimal128(5, -2), Decimal(100), b"4:1E+2"),
    "list": (pa.list_(pa.int64()), [1, None], b"8:[1,null]"),
    "list of instants": (pa.list_(pa.timestamp("us")), [datetime(1970, 1, 1, 0, 0, 1)], b"9:[1000000]"),  # noqa: DTZ001 - zoneless
    "struct": (
        pa.struct([pa.field("b", pa.string()), pa.field("a", pa.binary())]),
        {"b": "é", "a": b"\xff"},
        '19:{"b":"é","a":"ff"}'.encode(),
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_the_frame_of_each_type(name: str) -> None:
    """As docs/format.md has it."""
    kind, value, frame = FRAMES[name]
    table = pa.table({"c": pa.array([value, value], kind)})

    assert digests_of(table) == [short(frame)] * 2


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.none() | st.text(max_size=3), st.none() | st.text(max_size=3)), min_size=2, max_size=20))
def test_rows_have_one_digest_only_when_equal(rows: list[tuple[str | None, str | None]]) -> None:
    """Null, empty and shifted texts are all told apart."""
    table = pa.table({"a": pa.array([a for a, _ in rows], pa.string()), "b": pa.array([b for _, b in rows], pa.string())})

    assert len(set(digests_of(table))) == len(set(rows))


def test_payloads_keep_null_empty_and_data_apart() -> None:
    """An empty payload is a payload."""
    schema = shard_schema(PAYLOAD)
    table = payload_rows([Payload(source=SOURCE, member=None, data=data) for data in (b"", b"\0", b"abc")], schema)

    assert table["payload"].to_pylist() == [b"", b"\0", b"abc"]
    assert table["sample_digest"].to_pylist() == [short(b""), short(b"\0"), short(b"abc")]
    assert table["sample_digest"].to_pylist() == digests_of(table.select(["payload"]))
    assert table.schema == schema


def test_a_key_that_is_no_text_is_shown_escaped() -> None:
    """The ID is of its bytes."""
    source = SourceObject(key="in/\udcff", size_bytes=1, etag="e")

    table = with_identity(source, pa.table({"n": [1]}))

    assert table["source_key"].to_pylist() == ["in/\\xff"]
    assert table["sample_id"].to_pylist() == [short(b"source\0in/\xff\x000")]


def test_columns_of_many_chunks_are_taken_whole() -> None:
    """Rows are numbered through."""
    table = pa.concat_tables([pa.table({"n": [1, 2]}), pa.table({"n": [3]})])

    found = with_identity(SOURCE, table)

    assert found["source_row"].to_pylist() == [0, 1, 2]
    assert found["n"].to_pylist() == [1, 2, 3]


def test_rows_taken_a_few_at_a_time_have_the_same_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows are Python objects at once is nobody's business."""
    rows = pa.table({"n": range(7), "s": [None, "", "a", "b", "c", "d", "e"]})
    whole = digests_of(rows)

    monkeypatch.setattr("headrace.shards.samples._AT_ONCE", 3)

    assert digests_of(rows) == whole
