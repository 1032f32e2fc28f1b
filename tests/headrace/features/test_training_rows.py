"""Each label gets the newest snapshot published by its time, and says which."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.cutoff import to_micros
from headrace.features.errors import SchemaError, SnapshotError
from headrace.features.training_rows import training_rows, versions_at
from headrace.features.versions import Kind, SnapshotKey, SnapshotVersion
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.features.build import at, labels, snapshot, training_set, version, view

DAY_3 = snapshot("2013-01-03.preliminary.20130104T050000Z", "2013-01-04T06:00", {"AA": 3, "UA": 30})
DAY_3_SETTLED = snapshot("2013-01-03.settled.20130106T050000Z", "2013-01-06T06:00", {"AA": 4, "UA": 40})
DAY_4 = snapshot("2013-01-04.preliminary.20130105T050000Z", "2013-01-05T06:00", {"AA": 5})
ALL = [DAY_3, DAY_3_SETTLED, DAY_4]


def column(table: pa.Table, name: str) -> list[object]:
    return table.column(name).to_pylist()


def test_a_label_during_a_day_gets_the_last_completed_one() -> None:
    """Until day 4 is published the label sees day 3, from that instant on day 4."""
    rows = labels(("AA", "2013-01-05T05:59:59.999999"), ("AA", "2013-01-05T06:00"), ("AA", "2013-01-04T05:59"))

    found = training_rows(training_set(), rows, {"carrier_delays": ALL})

    assert column(found, "flights_1d") == [3, 5, None]
    assert column(found, "carrier_delays__version") == [
        "2013-01-03.preliminary.20130104T050000Z",
        "2013-01-04.preliminary.20130105T050000Z",
        None,
    ]
    assert column(found, "carrier_delays__day") == [date(2013, 1, 3), date(2013, 1, 4), None]
    assert column(found, "carrier_delays__published_at") == [at("2013-01-04T06:00"), at("2013-01-05T06:00"), None]
    assert column(found, "carrier_delays__reason") == [None, None, "not_yet_arrived"]


def test_a_better_version_of_an_older_day_loses_against_a_newer_day() -> None:
    """On the 6th day 3 settles; day 4 is still the newest."""
    found = training_rows(training_set(), labels(("AA", "2013-01-06T12:00")), {"carrier_delays": ALL})

    assert column(found, "flights_1d") == [5]


def test_of_one_day_the_version_that_knows_most_wins() -> None:
    """Without day 4, the settled version of day 3 takes over when it is published."""
    rows = labels(("AA", "2013-01-06T05:59"), ("AA", "2013-01-06T06:00"))

    found = training_rows(training_set(), rows, {"carrier_delays": [DAY_3_SETTLED, DAY_3]})

    assert column(found, "flights_1d") == [3, 4]


def test_a_preliminary_version_published_after_the_settled_one_does_not_win() -> None:
    """After an outage both come late and in any order; what knows more is the better one."""
    late = snapshot("2013-01-03.preliminary.20130104T050000Z", "2013-01-07T00:00", {"AA": 3})

    found = training_rows(training_set(), labels(("AA", "2013-01-08T00:00")), {"carrier_delays": [DAY_3_SETTLED, late]})

    assert column(found, "flights_1d") == [4]


def test_an_entity_the_chosen_snapshot_does_not_hold_gets_no_older_value() -> None:
    """UA is in day 3 and not in day 4: its windows were empty, and that is what was known."""
    found = training_rows(training_set(), labels(("UA", "2013-01-05T12:00"), (None, "2013-01-05T12:00")), {"carrier_delays": ALL})

    assert column(found, "flights_1d") == [None, None]
    assert column(found, "carrier_delays__reason") == ["never_seen", "null_key"]


def test_a_null_key_finds_no_null_key() -> None:
    """A snapshot row without a carrier, were there one, is nobody's."""
    nobody = type(DAY_4)(version=DAY_4.version, rows=DAY_4.rows.set_column(0, "carrier", pa.array([None], pa.string())))

    found = training_rows(training_set(), labels((None, "2013-01-05T12:00")), {"carrier_delays": [nobody]})

    assert (column(found, "flights_1d"), column(found, "carrier_delays__reason")) == ([None], ["null_key"])


def test_label_rows_come_back_one_for_one_in_their_order() -> None:
    """Duplicates, label columns and unsorted times stay as they were."""
    rows = labels(("UA", "2013-01-06T12:00"), ("AA", "2013-01-04T12:00"), ("AA", "2013-01-04T12:00"), ("AA", "2013-01-02T12:00"))

    found = training_rows(training_set(), rows, {"carrier_delays": ALL})

    assert found.select(rows.schema.names).equals(rows)
    assert column(found, "flights_7d") == [None, 30, 30, None]
    assert found.schema.field("flights_7d").type == pa.int64()


def test_versions_published_later_change_no_row() -> None:
    """Law 4, with the whole table."""
    rows = labels(("UA", "2013-01-04T12:00"), ("AA", "2013-01-05T05:00"), (None, "2013-01-05T00:00"))

    before = training_rows(training_set(), rows, {"carrier_delays": [DAY_3]})

    assert training_rows(training_set(), rows, {"carrier_delays": ALL}).equals(before)


@pytest.mark.parametrize(("ttl", "reason"), [(timedelta(hours=7), None), (timedelta(hours=7) - timedelta(seconds=1), "expired")])
def test_the_ttl_counts_from_the_cutoff_of_the_snapshot(ttl: timedelta, reason: str | None) -> None:
    """Exactly as old as the ttl is kept, a second more is expired."""
    found = training_rows(training_set(ttl=ttl), labels(("AA", "2013-01-05T12:00")), {"carrier_delays": ALL})

    assert column(found, "carrier_delays__reason") == [reason]
    assert column(found, "flights_1d") == [5 if reason is None else None]


def test_a_null_feature_says_so() -> None:
    """The row is there and one of its features is null."""
    rows = DAY_4.rows.set_column(3, "arr_delay_mean_1d", pa.array([None], pa.float64()))
    changed = type(DAY_4)(version=DAY_4.version, rows=rows)

    found = training_rows(training_set(), labels(("AA", "2013-01-05T12:00")), {"carrier_delays": [changed]})

    assert column(found, "carrier_delays__reason") == ["null_value"]
    assert column(found, "flights_1d") == [5]


def test_the_split_stands_beside_each_label() -> None:
    """Known before the holdout's start, and inside it."""
    rows = labels(("AA", "2013-01-04T12:00"), ("AA", "2013-01-05T12:00"))

    assert column(training_rows(training_set(), rows, {"carrier_delays": ALL}), "split") == ["train", "holdout"]


def test_no_snapshot_at_all_gives_typed_nulls() -> None:
    """An empty lake is an answer, not a crash."""
    found = training_rows(training_set(), labels(("AA", "2013-01-05T12:00")), {"carrier_delays": []})

    assert column(found, "carrier_delays__reason") == ["not_yet_arrived"]
    assert found.column("flights_1d").null_count == 1


def test_no_labels_give_no_rows() -> None:
    """A day without labels keeps its schema."""
    empty = training_rows(training_set(), labels(), {"carrier_delays": ALL})
    full = training_rows(training_set(), labels(("AA", "2013-01-05T12:00")), {"carrier_delays": ALL})

    assert empty.num_rows == 0
    assert empty.schema == full.schema


def test_views_with_different_entities_join_the_same_labels() -> None:
    """Each view is looked up by its own entity columns."""
    origin = view(name="origin_delays", entity=("origin",), windows=(2,))
    both = training_set(view(), origin, labels=type(training_set().labels)(
        name="delayed", dataset="flights", rows="some.module:labels", entity=("carrier", "origin")))  # fmt: skip
    rows = labels(("AA", "2013-01-05T12:00")).append_column("origin", pa.array(["JFK"]))
    jfk = pa.table({"origin": ["JFK"], "flights_2d": [9], "arr_delay_mean_2d": [0.5], "late_share_2d": [0.1]})

    found = training_rows(both, rows, {"carrier_delays": ALL, "origin_delays": [type(DAY_4)(version=DAY_3.version, rows=jfk)]})

    assert (column(found, "flights_1d"), column(found, "flights_2d")) == ([5], [9])
    assert column(found, "origin_delays__day") == [date(2013, 1, 3)]


def test_a_label_column_named_like_a_feature_is_refused() -> None:
    """Nothing is renamed and nothing overwritten."""
    rows = labels(("AA", "2013-01-05T12:00")).append_column("flights_1d", pa.array([1]))
    with pytest.raises(SchemaError, match="flights_1d"):
        training_rows(training_set(), rows, {"carrier_delays": ALL})


@pytest.mark.parametrize("column", ["label_id", "label", "label_time", "label_known_time", "carrier"])
def test_a_label_column_that_is_missing_is_named(column: str) -> None:
    """Before anything is joined, and not by the shelf its rows would have lain on."""
    with pytest.raises(SchemaError, match=column):
        training_rows(training_set(), labels(("AA", "2013-01-04T12:00")).drop_columns(column), {"carrier_delays": []})


def test_a_snapshot_with_an_entity_twice_is_refused() -> None:
    """Two answers are none, and a join would multiply labels."""
    twice = type(DAY_4)(version=DAY_4.version, rows=pa.concat_tables([DAY_4.rows, DAY_4.rows]))
    with pytest.raises(SnapshotError, match="an entity twice"):
        training_rows(training_set(), labels(("AA", "2013-01-05T12:00")), {"carrier_delays": [twice]})


def test_a_key_of_another_type_is_refused() -> None:
    """'01' is not 1; both types are named."""
    rows = labels(("AA", "2013-01-05T12:00")).set_column(1, "carrier", pa.array([1], pa.int64()))
    with pytest.raises(SchemaError, match="int64 in labels and string in 2013-01-04"):
        training_rows(training_set(), rows, {"carrier_delays": ALL})


def test_the_same_version_twice_is_refused() -> None:
    """A list with doubles was put together wrongly."""
    with pytest.raises(SnapshotError, match="one key twice"):
        training_rows(training_set(), labels(("AA", "2013-01-05T12:00")), {"carrier_delays": [DAY_4, DAY_4]})


def test_snapshots_of_a_view_must_be_given() -> None:
    """A forgotten view would read as a view that knew nothing."""
    with pytest.raises(SchemaError, match="none given"):
        training_rows(training_set(), labels(("AA", "2013-01-05T12:00")), {})


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 80), st.integers(0, 60)), max_size=12, unique_by=lambda item: item[:2]),
    st.lists(st.integers(0, 300), max_size=20),
)
@settings(max_examples=200, deadline=None)
def test_the_version_chosen_is_the_one_a_scan_finds(raw: list[tuple[int, int, int]], hours: list[int]) -> None:
    """Against a plain scan over all versions for every label."""
    start = at("2013-01-01T05:00")
    versions = [
        SnapshotVersion(
            key=SnapshotKey(day=date(2013, 1, day), kind=Kind.REBUILD, knowledge=start + timedelta(hours=24 * day + known)),
            published_at=start + timedelta(hours=24 * day + known + delay),
            synthetic=False,
        )
        for day, known, delay in raw
    ]
    times = [start + timedelta(hours=hour) for hour in hours]
    expected = [
        max(
            (item for item in versions if item.published_at <= time),
            key=lambda item: (item.key.day, item.key.knowledge),
            default=None,
        )
        for time in times
    ]

    found = versions_at(versions, np.array([to_micros(time) for time in times], dtype=np.int64))

    assert [None if position < 0 else versions[position] for position in found] == expected


def test_publication_is_compared_to_the_microsecond() -> None:
    """A label a nanosecond before the publication does not see it: label times round down."""
    published = version("2013-01-03.preliminary.20130104T050000Z", "2013-01-04T06:00")
    just_before = pa.array([to_micros(at("2013-01-04T06:00")) * 1000 - 1], pa.int64()).cast(pa.timestamp("ns", tz="UTC"))
    rows = labels(("AA", "2013-01-04T06:00")).set_column(2, "label_time", just_before)

    found = training_rows(training_set(), rows, {"carrier_delays": [type(DAY_3)(version=published, rows=DAY_3.rows)]})

    assert column(found, "flights_1d") == [None]
    assert found.schema.field("label_time").type == pa.timestamp("ns", tz="UTC")
