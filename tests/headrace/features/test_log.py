"""The door of the log says what is wrong, where, and with which types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.errors import RowsError, SchemaError, row_numbers
from headrace.features.log import open_log
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.features.build import INSTANT, at, instants, log

ROWS = log(
    ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 1, False),
    ("AA", "2013-01-03T12:00", "2013-01-03T14:00", 2, False),
    ("UA", "2013-01-03T12:00", "2013-01-03T14:00", 3, True),
)


def test_rows_that_differ_get_seq_zero_and_ties_are_numbered_by_content() -> None:
    """Only what agrees on entity and both times is numbered."""
    found = open_log(ROWS.take(pa.array([1, 0, 2])), ("carrier",))

    assert found.seq.tolist() == [1, 0, 0]


def test_rows_that_arrive_later_do_not_renumber_ties() -> None:
    """A tie is closed when its arrival time is: later rows have another one."""
    later = log(("AA", "2013-01-03T12:00", "2013-01-03T15:00", 0, False))

    assert open_log(pa.concat_tables([ROWS, later]), ("carrier",)).seq.tolist() == [0, 1, 0, 0]


def test_clocks_come_out_in_microseconds_utc() -> None:
    """Whatever unit and zone they came in; the other columns stay as they were."""
    local = ROWS.set_column(1, "event_time", ROWS.column("event_time").cast(pa.timestamp("ms", tz="America/New_York")))

    found = open_log(local, ("carrier",))

    assert found.table.schema.field("event_time").type == INSTANT
    assert found.table.equals(ROWS)
    assert found.values == ("arr_delay", "late")


def test_nanosecond_arrivals_round_up_and_events_down() -> None:
    """Also before 1970, where truncation would go the other way."""
    ns = pa.timestamp("ns", tz="UTC")
    table = pa.table(
        {
            "carrier": ["AA", "AA"],
            "event_time": pa.array([1001, -1001], pa.int64()).cast(ns),
            "available_time": pa.array([1001, -1001], pa.int64()).cast(ns),
        }
    )
    found = open_log(table, ("carrier",))

    assert (found.event.tolist(), found.available.tolist()) == ([1, -2], [2, -1])


@pytest.mark.parametrize(
    ("column", "values", "error", "found"),
    [
        ("carrier", pa.array([1.0, 2.0, 3.0]), SchemaError, "double"),
        ("carrier", pa.array([["AA"], ["AA"], ["UA"]]), SchemaError, "list<item: string>"),
        ("carrier", pa.nulls(3), SchemaError, "null"),
        ("carrier", pa.array([at("2013-01-03T12:00").replace(tzinfo=None)] * 3, pa.timestamp("us")), SchemaError, "timestamp[us]"),
        ("event_time", pa.array([1, 2, 3]), SchemaError, "int64"),
        ("event_time", pa.array([at("2013-01-03T12:00"), None, None], INSTANT), RowsError, "null in rows 1, 2"),
        ("event_time", instants("2013-01-03T12:00", "1677-12-31T00:00", "2013-01-03T12:00"), RowsError,
         "an instant outside 1678 to 2261 in row 1"),
        ("available_time", pa.array([at("2013-01-03T12:00")] * 3, INSTANT).cast(pa.timestamp("us")), SchemaError, "timestamp[us]"),
    ],
)  # fmt: skip
def test_what_the_door_refuses_is_named(column: str, values: pa.Array, error: type[Exception], found: str) -> None:
    """Column, rows or type."""
    position = ROWS.schema.get_field_index(column)
    with pytest.raises(error) as caught:
        open_log(ROWS.set_column(position, column, values), ("carrier",))

    assert caught.value.found == found  # type: ignore[attr-defined]
    assert column in caught.value.subject  # type: ignore[attr-defined]


@pytest.mark.parametrize("column", ["carrier", "event_time", "available_time"])
def test_a_missing_column_is_named(column: str) -> None:
    """The rows function forgot it."""
    with pytest.raises(SchemaError, match=column):
        open_log(ROWS.drop_columns(column), ("carrier",))


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("seq", pa.array([1.0, 2.0, 3.0]), "double"),
        ("seq", pa.array([1, None, None]), "null in rows 1, 2"),
        ("tombstone", pa.array([0, 1, 0]), "int64"),
        ("retraction", pa.array(["no", "no", "yes"]), "string"),
        ("retracts", pa.array(["1", "2", "3"]), "string"),
        (
            "seq",
            pa.array([1, 2, 2**64 - 1], pa.uint64()),
            "Integer value 18446744073709551615 not in range: 0 to 9223372036854775807",
        ),
    ],
)
def test_marks_have_their_types(name: str, values: pa.Array, found: str) -> None:
    """A number is not a flag and a float is not a number of a row."""
    with pytest.raises((SchemaError, RowsError)) as caught:
        open_log(ROWS.append_column(name, values), ("carrier",))

    assert (caught.value.subject, caught.value.found) == (f"log.{name}", found)


def test_ties_with_content_that_has_no_order_need_a_seq() -> None:
    """Nested values cannot be ordered; with a seq they need not be."""
    nested = ROWS.append_column("stops", pa.array([["ORD"], ["ORD"], []]))
    with pytest.raises(SchemaError, match="no seq column"):
        open_log(nested, ("carrier",))

    assert open_log(nested.append_column("seq", pa.array([7, 8, 9])), ("carrier",)).seq.tolist() == [7, 8, 9]


def test_rows_without_an_entity_may_agree() -> None:
    """They belong to nobody, so nothing has to be decided between them."""
    nobody = log(
        (None, "2013-01-03T12:00", "2013-01-03T14:00", 1, False), (None, "2013-01-03T12:00", "2013-01-03T14:00", 1, False)
    )

    assert open_log(nobody.append_column("seq", pa.array([1, 1])), ("carrier",)).seq.tolist() == [1, 1]


def test_row_numbers_show_the_first_few() -> None:
    """And how many more."""
    assert row_numbers([3]) == "row 3"
    assert row_numbers(list(range(10, 18))) == "rows 10, 11, 12, 13, 14 and 3 more"


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=30))
@settings(max_examples=150, deadline=None)
def test_default_seq_makes_every_row_different(raw: list[tuple[int, int, int]]) -> None:
    """Entity, both times and seq identify a row afterwards, and seq counts from 0 inside each tie."""
    table = pa.table(
        {
            "carrier": pa.array([key for key, _, _ in raw], pa.int64()),
            "event_time": pa.array([x for _, x, _ in raw], pa.int64()).cast(INSTANT),
            "available_time": pa.array([a for _, _, a in raw], pa.int64()).cast(INSTANT),
        }
    )
    found = open_log(table, ("carrier",))

    ties: dict[tuple[int, int, int], list[int]] = {}
    for row, seq in zip(raw, found.seq.tolist(), strict=True):
        ties.setdefault(row, []).append(seq)
    assert all(sorted(seqs) == list(range(len(seqs))) for seqs in ties.values())
    assert found.seq.dtype == np.int64
