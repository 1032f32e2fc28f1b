"""A log joined directly: as fresh as the log, and nothing that had not arrived."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from headrace.features.errors import SchemaError
from headrace.features.needs import joined_log_days
from headrace.features.training_rows import training_rows
from headrace.spec.columns import columns
from headrace.spec.errors import DeclarationError
from headrace.spec.feature_view import FeatureLog
from headrace.spec.log_join import LogJoin
from headrace.spec.quality import WEIGHT_COLUMNS

from tests.conformance.engines import ENGINES_HERE
from tests.headrace.features.build import at, labels, log, snapshot, training_set, view

DAY_3 = snapshot("2013-01-03.preliminary.20130104T050000Z", "2013-01-04T06:00", {"AA": 3})
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


@pytest.mark.parametrize("engine", ENGINES_HERE)
def test_a_log_and_a_view_stand_side_by_side_with_their_provenance(engine: str) -> None:
    """At noon two flights have landed and the later of them counts; the delayed third was in the air."""
    wanted = training_set(logs=(LAST,), engine=engine)

    found = training_rows(wanted, labels(("AA", "2013-01-04T12:00")), {"carrier_delays": [DAY_3]}, {"last_landing": LANDINGS})

    assert found.select(["flights_1d", "arr_delay", "last_landing__event_time", "last_landing__reason"]).to_pylist() == [
        {"flights_1d": 3, "arr_delay": 7, "last_landing__event_time": at("2013-01-04T09:00"), "last_landing__reason": None}
    ]


def test_a_training_set_may_have_logs_alone() -> None:
    """The zone of its holdout and its first day come from the log; exactly the ttl is kept, a microsecond more is not."""
    wanted = training_set(views=(), logs=(LAST,))
    rows = labels(("AA", "2013-01-04T15:30"), ("AA", "2013-01-04T15:30:00.000001"), ("UA", "2013-01-04T12:00"))

    found = training_rows(wanted, rows, {}, {"last_landing": LANDINGS})

    assert (wanted.first_day, wanted.holdout_timezone) == (date(2013, 1, 1), "America/New_York")
    assert found.column("arr_delay").to_pylist() == [90, None, None]
    assert found.column("last_landing__reason").to_pylist() == [None, "expired", "never_seen"]


def test_a_day_without_any_log_row_has_the_columns_of_every_other_day() -> None:
    """Typed nulls with a reason."""
    found = training_rows(
        training_set(views=(), logs=(LAST,)), labels(("AA", "2013-01-04T12:00")), {}, {"last_landing": LANDINGS[:0]}
    )

    assert found.schema.field("arr_delay").type == pa.int64()
    assert found.column("last_landing__reason").to_pylist() == ["never_seen"]


def test_a_column_of_another_type_than_declared_is_refused() -> None:
    """Naming both types; nothing is cast in silence."""
    text = LANDINGS.set_column(3, "arr_delay", LANDINGS.column("arr_delay").cast(pa.string()))

    with pytest.raises(SchemaError, match=r"last_landing\.arr_delay: found string; expected int64"):
        training_rows(training_set(views=(), logs=(LAST,)), labels(("AA", "2013-01-04T12:00")), {}, {"last_landing": text})


def test_the_days_read_are_those_the_ttl_reaches() -> None:
    """Local dates from six hours before the first label to the last one; none before the log starts."""
    wanted = training_set(views=(), logs=(LAST,))

    assert joined_log_days(wanted, LAST, date(2013, 1, 4)) == (date(2013, 1, 3), date(2013, 1, 4))
    assert joined_log_days(wanted, LAST, date(2013, 1, 1)) == (date(2013, 1, 1),)
    assert len(joined_log_days(wanted, replace(LAST, ttl=timedelta(days=7)), date(2013, 1, 20))) == 8


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"values": ()}, "at least one column with its type"),
        ({"values": columns(carrier="string")}, "no entity column"),
        ({"ttl": None}, "ttl"),
        ({"timezone": "America/Gotham"}, "a zone of the tz database"),
        ({"carry_forward": ("late",)}, "some of"),
        ({"start": "2013-01-01"}, "a date"),
    ],
)
def test_a_wrong_log_join_says_what_is_allowed(changes: dict[str, Any], says: str) -> None:
    """At import, by field."""
    with pytest.raises(DeclarationError, match=says):
        replace(LAST, **changes)


@pytest.mark.parametrize("name", WEIGHT_COLUMNS)
def test_b77_a_sampling_weight_is_no_feature(name: str) -> None:
    """B77: a weight follows from the label, so as a feature it would tell a model the answer; refused when the file is read."""
    with pytest.raises(DeclarationError, match="none of the names with a meaning of their own"):
        replace(LAST, values=columns(**{name: "float64"}))


def test_features_of_views_and_logs_must_differ() -> None:
    """A column cannot come from two sources."""
    twice = replace(LAST, values=columns(flights_1d="int64"))

    with pytest.raises(DeclarationError, match="differ between views and logs"):
        training_set(view(), logs=(twice,))
