"""One schema out of many: what is widened and what is refused, row by row of the table of silent coercions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from headrace.sources.unify import FLAG, MIXED, ZONE, conflicts, unify_schemas

F = pa.field


def unified(*kinds: pa.DataType) -> pa.Field:  # type: ignore[type-arg] # any type
    """Column `a` of the schema over objects that have `a` as each of these."""
    return unify_schemas([pa.schema([F("a", kind)]) for kind in kinds]).field("a")


WIDENED = {
    "int64 and double": (pa.int64(), pa.float64(), pa.float64()),
    "int32 and int64": (pa.int32(), pa.int64(), pa.int64()),
    "uint32 and int64": (pa.uint32(), pa.int64(), pa.int64()),
    "uint8 and int8": (pa.uint8(), pa.int8(), pa.int16()),
    "null and string": (pa.null(), pa.string(), pa.string()),
    "list of null and list of int": (pa.list_(pa.null()), pa.list_(pa.int64()), pa.list_(pa.int64())),
    "microseconds and nanoseconds": (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ns")),
    "dictionaries of two widths": (
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.string()),
        pa.string(),
    ),
    "dictionary and plain text": (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.string()),
    "a struct that gains a field": (
        pa.struct([F("x", pa.int64())]),
        pa.struct([F("x", pa.int64()), F("y", pa.string())]),
        pa.struct([F("x", pa.int64()), F("y", pa.string())]),
    ),
    "a struct in another order": (
        pa.struct([F("x", pa.int64()), F("y", pa.string())]),
        pa.struct([F("y", pa.string()), F("x", pa.int64())]),
        pa.struct([F("x", pa.int64()), F("y", pa.string())]),
    ),
    "decimals of two scales": (pa.decimal128(10, 2), pa.decimal128(10, 4), pa.decimal128(12, 4)),
    "float32 and double": (pa.float32(), pa.float64(), pa.float64()),
    "text and large text": (pa.string(), pa.large_string(), pa.large_string()),
}


@pytest.mark.parametrize("name", WIDENED)
def test_widened(name: str) -> None:
    """The narrowest type that holds both, whichever comes first."""
    first, second, expected = WIDENED[name]

    assert unified(first, second).type == expected
    other_way = unified(second, first).type
    if pa.types.is_struct(expected):
        assert {other_way.field(n).name for n in range(other_way.num_fields)} == {"x", "y"}
    else:
        assert other_way == expected


REFUSED = {
    "int64 and string": (pa.int64(), pa.string()),
    "bool and int": (pa.bool_(), pa.int64()),
    "zoneless and zoned instants": (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
    "date and instant": (pa.date32(), pa.timestamp("us")),
    "uint64 and int64": (pa.uint64(), pa.int64()),
    "fixed lists of two lengths": (pa.list_(pa.float32(), 2), pa.list_(pa.float32(), 3)),
    "string and struct": (pa.string(), pa.struct([F("x", pa.int64())])),
    "decimals no decimal holds": (pa.decimal256(76, 0), pa.decimal256(76, 76)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """The first stays; the other conflicts with it, by path and with both types."""
    first, second = REFUSED[name]
    base = unify_schemas([pa.schema([F("a", first)])])

    (found,) = conflicts(base, pa.schema([F("a", second)]))

    assert (found.path, found.expected, found.found) == ("a", first, second)
    assert unified(first, second).type == first


def test_a_conflict_inside_a_struct_is_named_by_its_path() -> None:
    """`a.x`, not just `a`."""
    base = pa.schema([F("a", pa.struct([F("x", pa.int64())]))])

    (found,) = conflicts(base, pa.schema([F("a", pa.struct([F("x", pa.string())]))]))

    assert found.path == "a.x"


def test_other_zones_become_utc_and_are_kept_as_metadata() -> None:
    """The instant is the same; where it was said is a fact about the source."""
    field = unified(pa.timestamp("us", tz="UTC"), pa.timestamp("us", tz="Europe/Paris"))

    assert field.type == pa.timestamp("us", tz="UTC")
    assert field.metadata == {ZONE: b"Europe/Paris"}


def test_text_and_bytes_become_bytes_and_are_flagged() -> None:
    """Every text is bytes, not every byte string a text."""
    field = unified(pa.string(), pa.binary())

    assert (field.type, field.metadata) == (pa.binary(), {FLAG: MIXED})


def test_a_new_column_is_kept_and_nullable() -> None:
    """Also when its first object said it is never null: the older objects do not have it."""
    first = pa.schema([F("a", pa.int64(), nullable=False)])
    second = pa.schema([F("b", pa.int64(), nullable=False), F("a", pa.int64())])

    assert unify_schemas([first, second]) == pa.schema([F("a", pa.int64()), F("b", pa.int64())])
    assert all(field.nullable for field in unify_schemas([first, second]))


def test_a_repeated_column_name_takes_no_part() -> None:
    """Its object is refused when it is read."""
    twice = pa.schema([F("a", pa.int64()), F("a", pa.string())])

    assert unify_schemas([twice, pa.schema([F("b", pa.int64())])]).names == ["b"]
