"""Parquet sources: cast to the partition's schema exactly, or refused by name."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.lake.local import LocalStore
from headrace.sources.errors import ObjectRefused
from headrace.sources.inventory import SourceObject
from headrace.sources.parquet import decode_parquet, unified_schema
from headrace.sources.unify import unify_schemas

LIMIT = 100_000_000


def file_of(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def read(table: pa.Table, schema: pa.Schema, *, exact: bool = False) -> list[dict[str, Any]]:
    return decode_parquet("in/x", file_of(table), schema, limit_bytes=LIMIT, exact=exact).to_pylist()


def column(kind: pa.DataType, *values: Any) -> pa.Table:
    return pa.table({"a": pa.array(values, kind)})


CASTS = {
    "int into double": (column(pa.int64(), 3), pa.float64(), 3.0),
    "int32 into int64": (column(pa.int32(), 3), pa.int64(), 3),
    "null into text": (column(pa.null(), None), pa.string(), None),
    "dictionary into plain": (pa.table({"a": pa.array(["x"]).dictionary_encode()}), pa.string(), "x"),
    "Paris into UTC": (
        column(pa.timestamp("us", tz="Europe/Paris"), datetime(2013, 1, 1, 12, tzinfo=UTC)),
        pa.timestamp("us", tz="UTC"),
        datetime(2013, 1, 1, 12, tzinfo=UTC),
    ),
    "text into bytes": (column(pa.string(), "x"), pa.binary(), b"x"),
    "a struct without a field": (
        column(pa.struct([pa.field("x", pa.int64())]), {"x": 1}),
        pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.string())]),
        {"x": 1, "y": None},
    ),
    "float32 into double": (column(pa.float32(), 0.5), pa.float64(), 0.5),
}


@pytest.mark.parametrize("name", CASTS)
def test_values_are_unchanged_in_the_unified_type(name: str) -> None:
    """Exactly the same value."""
    table, target, value = CASTS[name]

    assert read(table, pa.schema([pa.field("a", target)])) == [{"a": value}]


def test_a_column_the_object_lacks_is_null() -> None:
    """In a unified schema; a declared one refuses the object."""
    schema = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.string())])

    assert read(column(pa.int64(), 1), schema) == [{"a": 1, "b": None}]
    with pytest.raises(ObjectRefused, match="missing column b"):
        read(column(pa.int64(), 1), schema, exact=True)


def test_an_integer_a_double_cannot_hold_is_refused_with_its_row() -> None:
    """2**53 + 1 would become 2**53."""
    table = column(pa.int64(), *range(100), 2**53 + 1)

    with pytest.raises(ObjectRefused, match=r"in/x row 100 column a: found 9007199254740993 \(int64\)"):
        read(table, pa.schema([pa.field("a", pa.float64())]))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pa.string(), pa.int64()),
        (pa.bool_(), pa.int64()),
        (pa.int64(), pa.bool_()),
        (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
        (pa.timestamp("us"), pa.date32()),
        (pa.uint64(), pa.int64()),
        (pa.list_(pa.float32(), 3), pa.list_(pa.float32(), 2)),
        (pa.float64(), pa.float32()),
        (pa.int64(), pa.int32()),
    ],
)
def test_a_type_that_does_not_fit_is_refused_with_both_types(found: pa.DataType, expected: pa.DataType) -> None:
    """Even when every value of this object would fit by chance."""
    with pytest.raises(ObjectRefused) as caught:
        read(column(found), pa.schema([pa.field("a", expected)]))

    error = caught.value
    assert (error.kind, error.subject, error.found, error.expected) == (
        "conflicting type",
        "in/x column a",
        str(found),
        str(expected),
    )


def test_repeated_column_names_are_refused_by_name() -> None:
    """pyarrow writes such a file and cannot read it."""
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])

    with pytest.raises(ObjectRefused, match="repeated column a"):
        read(twice, pa.schema([pa.field("a", pa.int64())]))


def test_our_own_column_names_are_refused() -> None:
    """`sample_id` would stand twice in a shard."""
    table = pa.table({"sample_id": ["x"]})

    with pytest.raises(ObjectRefused, match="reserved column sample_id"):
        read(table, table.schema)


@pytest.mark.parametrize("damage", ["empty", "text", "truncated", "flipped"])
def test_what_is_not_whole_is_refused(damage: str) -> None:
    """Truncation by the footer, a flipped byte by the page checksum."""
    good = file_of(pa.table({"a": list(range(10_000))}), write_page_checksum=True, compression="none", use_dictionary=False)
    flipped = bytearray(good)
    flipped[5000] ^= 1
    data = {"empty": b"", "text": b"a,b\n1,2\n", "truncated": good[:-9], "flipped": bytes(flipped)}[damage]

    with pytest.raises(ObjectRefused) as caught:
        decode_parquet("in/x", data, pa.schema([pa.field("a", pa.int64())]), limit_bytes=LIMIT, exact=True)
    assert caught.value.kind == "unreadable Parquet"


def test_a_table_that_unpacks_to_more_than_allowed_is_refused_before_it_is_read() -> None:
    """Its footer says so."""
    data = file_of(pa.table({"a": ["x" * 100] * 100_000}), use_dictionary=False)
    assert len(data) < 1_000_000

    with pytest.raises(ObjectRefused) as caught:
        decode_parquet("in/x", data, pa.schema([pa.field("a", pa.string())]), limit_bytes=1_000_000, exact=True)
    assert caught.value.kind == "too large"


def test_footers_alone_give_the_unified_schema(landing: LocalStore) -> None:
    """Also of a file whose footer is longer than the first read; unreadable ones take no part."""
    wide = pa.table({f"column_{n:04d}": pa.array([n], pa.int32()) for n in range(2000)})
    tables = {"1": wide, "2": column(pa.int32(), 1), "3": column(pa.int64(), 1)}
    for name, table in tables.items():
        landing.put_new(name, file_of(table))
    landing.put_new("4", b"not a table")
    listed = [SourceObject(key=info.key, size_bytes=info.size_bytes, etag=info.etag) for info in landing.list()]

    assert unified_schema(landing, listed) == unify_schemas([wide.schema, pa.schema([pa.field("a", pa.int64())])])
