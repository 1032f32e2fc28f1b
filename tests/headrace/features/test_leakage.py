"""The leakage audit passes what the builder makes and catches what other builders would have made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from headrace.features.leakage import LeakageAudit, Material, audit_leakage
from headrace.features.leakage_checks import same_column
from headrace.features.naive import NaiveLeak
from headrace.features.training_rows import training_rows
from headrace.spec.columns import columns
from headrace.spec.feature_view import FeatureLog
from headrace.spec.log_join import LogJoin

from tests.headrace.features.build import INSTANT, at, labels, log, snapshot, training_set

DAY_3 = snapshot("2013-01-03.preliminary.20130104T050000Z", "2013-01-04T06:00", {"AA": 3, "UA": 30})
DAY_3_SETTLED = snapshot("2013-01-03.settled.20130106T050000Z", "2013-01-06T06:00", {"AA": 4, "UA": 30})
LAST = LogJoin(
    name="last_landing",
    entity=("carrier",),
    log=FeatureLog(dataset="flights", rows="some.module:rows"),
    values=columns(arr_delay="int64"),
    timezone="America/New_York",
    ttl=timedelta(hours=6),
    start=date(2013, 1, 1),
)
LANDINGS = log(
    ("AA", "2013-01-04T08:00", "2013-01-04T11:00", 5, False),
    ("AA", "2013-01-04T09:00", "2013-01-04T10:00", 7, False),
    ("AA", "2013-01-04T09:30", "2013-01-04T13:00", 90, True),
)
LABELS = labels(("AA", "2013-01-04T12:00"), ("UA", "2013-01-04T12:00"), (None, "2013-01-04T12:00"), ("AA", "2013-01-04T05:00"))
WANTED = training_set(logs=(LAST,))
MADE_OF = Material(
    labels=LABELS,
    snapshots={"carrier_delays": [DAY_3]},
    logs={"last_landing": LANDINGS},
    published={"carrier_delays": [DAY_3_SETTLED]},
)


def built() -> pa.Table:
    return training_rows(WANTED, LABELS, MADE_OF.snapshots, MADE_OF.logs)


def audit(rows: pa.Table) -> LeakageAudit:
    return audit_leakage(WANTED, rows, MADE_OF, seed="s")


def with_value(rows: pa.Table, column: str, number: int, value: Any) -> pa.Table:
    """The rows with one cell replaced."""
    position, kind = rows.schema.get_field_index(column), rows.schema.field(column).type
    values = rows.column(column).to_pylist()
    values[number] = value
    return rows.set_column(position, column, pa.array(values, kind))


def test_what_the_builder_makes_passes_every_check() -> None:
    """Each check is there for each source, looked at labels, and found nothing wrong."""
    found = audit(built())

    assert [(one.check, one.source, one.labels, one.wrong) for one in found.findings] == [
        ("labels", "labels", 4, 0),
        ("split", "labels", 4, 0),
        ("rows", "carrier_delays", 4, 0),
        ("scan", "carrier_delays", 4, 0),
        ("no better version", "carrier_delays", 4, 0),
        ("rows", "last_landing", 4, 0),
        ("scan", "last_landing", 4, 0),
        ("cut", "all", 4, 0),
        ("poison", "all", 4, 0),
        ("shuffle", "all", 4, 0),
    ]
    assert found.failed == ()


def test_the_figures_of_the_shortcuts() -> None:
    """The settled day 3 was there for no label and would change both of AA's; AA's newest event at noon had not landed."""
    assert audit(built()).naive == (
        NaiveLeak(source="carrier_delays", shortcut="newest complete day", labels=3, leaked=3, changed=2),
        NaiveLeak(source="last_landing", shortcut="newest event", labels=1, leaked=1, changed=1),
    )


@pytest.mark.parametrize(
    ("change", "caught"),
    [
        pytest.param(lambda rows: with_value(rows, "flights_1d", 0, 4), {"scan"}, id="a later version's value"),
        pytest.param(
            lambda rows: with_value(rows, "carrier_delays__published_at", 0, at("2013-01-06T06:00")),
            {"rows"},
            id="published after the label",
        ),
        pytest.param(
            lambda rows: with_value(rows, "carrier_delays__version", 0, None),
            {"scan", "no better version"},
            id="a better version could be read",
        ),
        pytest.param(
            lambda rows: with_value(with_value(rows, "arr_delay", 0, None), "last_landing__reason", 0, "never_seen"),
            {"scan"},
            id="nothing where an older value was there",
        ),
        pytest.param(lambda rows: with_value(rows, "arr_delay", 0, 5), {"scan"}, id="a late old event"),
        pytest.param(
            lambda rows: with_value(rows, "last_landing__available_time", 0, at("2013-01-04T12:00:00.000001")),
            {"rows"},
            id="arrived a microsecond late",
        ),
        pytest.param(lambda rows: with_value(rows, "last_landing__reason", 1, None), {"rows"}, id="no reason"),
        pytest.param(lambda rows: with_value(rows, "split", 0, "holdout"), {"split"}, id="held out early"),
        pytest.param(lambda rows: rows.take([1, 0, 2, 3]), {"labels"}, id="another order"),
    ],
)
def test_what_another_builder_would_have_made_is_caught(change: Callable[[pa.Table], pa.Table], caught: set[str]) -> None:
    """One wrong cell is enough, and the check that is meant for it says so."""
    found = audit(change(built()))

    assert {one.check for one in found.failed} == caught | {"cut", "poison", "shuffle"}
    assert all(one.examples for one in found.failed)


def test_a_builder_that_looks_at_arrival_alone_is_caught_by_the_scan() -> None:
    """The late old event (5) instead of the newest that had landed (7): no row check sees it, the scan does."""
    rows = with_value(built(), "arr_delay", 0, 5)
    rows = with_value(rows, "last_landing__event_time", 0, at("2013-01-04T08:00"))
    rows = with_value(rows, "last_landing__available_time", 0, at("2013-01-04T11:00"))

    failed = {(one.check, one.source): one.examples for one in audit(rows).failed}

    assert failed[("scan", "last_landing")] == ("label 0: expected {'arr_delay': 7}, found {'arr_delay': 5}",)
    assert ("rows", "last_landing") not in failed


def audited(logs: pa.Table, asked: pa.Table = LABELS, **values: str) -> LeakageAudit:
    """What the builder makes of a log alone, audited."""
    wanted = training_set(logs=(replace(LAST, values=columns(**values)),)) if values else WANTED
    made_of = replace(MADE_OF, labels=asked, logs={"last_landing": logs})
    return audit_leakage(wanted, training_rows(wanted, asked, made_of.snapshots, made_of.logs), made_of, seed="s")


def test_nan_is_a_value_and_no_leak() -> None:
    """In a log's values and among the labels' own columns: it is not equal to itself, and still the same."""
    nan = float("nan")
    landings = LANDINGS.set_column(3, "arr_delay", pa.array([nan, nan, 1.0]))
    asked = LABELS.append_column("weight", pa.array([nan, 1.0, None, nan])).append_column(
        "shape", pa.array([[nan], [], None, [1.0]])
    )

    assert audited(landings, asked, arr_delay="float64").failed == ()


def test_a_wrong_number_where_nan_belongs_is_caught() -> None:
    """NaN is the same as NaN and as nothing else."""
    wanted = training_set(logs=(replace(LAST, values=columns(arr_delay="float64")),))
    made_of = replace(MADE_OF, logs={"last_landing": LANDINGS.set_column(3, "arr_delay", pa.array([float("nan")] * 3))})
    rows = training_rows(wanted, LABELS, made_of.snapshots, made_of.logs)

    found = audit_leakage(wanted, with_value(rows, "arr_delay", 0, 5.0), made_of, seed="s")

    assert {one.check for one in found.failed} == {"scan", "cut", "poison", "shuffle"}


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.int64()])
def test_a_log_may_number_its_rows_in_any_integer_type(kind: pa.DataType) -> None:
    """The poison's number is greater than all of them."""
    assert audited(LANDINGS.append_column("seq", pa.array([1, 2, 3], kind))).failed == ()


def test_a_log_may_promise_that_nothing_is_null() -> None:
    """The rows of the audit's own say nothing in most columns."""
    marked = LANDINGS.append_column("tombstone", pa.array([False] * 3))
    promised = marked.cast(pa.schema([field.with_nullable(False) for field in marked.schema]))

    assert audited(promised).failed == ()


def test_what_happened_in_the_microsecond_of_the_last_label_is_not_cut_away() -> None:
    """Times in nanoseconds: the builder rounds an event down into the label's microsecond, and so does the audit."""
    ns = pa.timestamp("ns", tz="UTC")
    last = pa.array([at("2013-01-04T12:00")], INSTANT).cast(pa.int64())[0].as_py() * 1000
    landings = LANDINGS.set_column(1, "event_time", pa.array([last + 500, last - 10**12, last - 10**12]).cast(ns))
    landings = landings.set_column(2, "available_time", pa.array([last - 999, last, last + 1]).cast(ns))

    assert audited(landings).failed == ()


def test_no_rows_are_no_leak() -> None:
    """A day without labels is audited and passes."""
    empty = Material(labels=LABELS[:0], snapshots=MADE_OF.snapshots, logs=MADE_OF.logs, published=MADE_OF.published)

    found = audit_leakage(WANTED, training_rows(WANTED, LABELS[:0], empty.snapshots, empty.logs), empty, seed="s")

    assert (found.rows, found.failed) == (0, ())


def test_a_column_is_the_same_by_its_values_and_its_type() -> None:
    """NaN is itself, also inside lists; another type, another value or no column at all is another answer."""
    one = pa.table({"x": [1.0, float("nan"), None], "n": pa.array([1, 2, 3], pa.int64()), "v": [[float("nan")], None, [1.0]]})
    other = pa.table({"x": [1.0, float("nan"), None], "n": pa.array([1, 2, 3], pa.int32()), "v": [[float("nan")], None, [2.0]]})

    assert same_column(one, other, "x")
    assert same_column(one, one.slice(0), "v")
    assert not same_column(one, other, "n")
    assert not same_column(one, other, "v")
    assert not same_column(one, other, "nosuch")
