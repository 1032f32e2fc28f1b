"""Feature declarations refuse what is wrong at the door, and their digests cover content only."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from headrace.spec.aggregates import Aggregate, Function, count, max_of, mean, share, sum_of
from headrace.spec.canonical import digest_of
from headrace.spec.cutoff import Cutoff
from headrace.spec.errors import DeclarationError
from headrace.spec.feature_view import FeatureLog
from headrace.spec.label_set import LabelSet
from headrace.spec.training_set import TimeHoldout
from headrace.spec.zones import zone

from tests.headrace.features.build import training_set, view


def test_outputs_are_named_by_column_function_and_days() -> None:
    """By aggregate as declared, then by window."""
    assert view().features == (
        "flights_1d", "flights_7d", "arr_delay_mean_1d", "arr_delay_mean_7d", "late_share_1d", "late_share_7d",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Carrier"}, "name"),
        ({"entity": ()}, "entity"),
        ({"entity": "carrier"}, "entity"),
        ({"entity": ("carrier", "carrier")}, "entity"),
        ({"entity": ("event_time",)}, "entity"),
        ({"entity": ("flights_1d",)}, "aggregates"),
        ({"aggregates": ()}, "aggregates"),
        ({"aggregates": ("flights",)}, "aggregates"),
        ({"aggregates": (count("flights"), count("flights"))}, "aggregates"),
        ({"windows": ()}, "windows"),
        ({"windows": (0,)}, "windows"),
        ({"windows": (True,)}, "windows"),
        ({"windows": (1, 1)}, "windows"),
        ({"windows": (1.5,)}, "windows"),
        ({"log": "flights"}, "log"),
        ({"cutoff": "24:00"}, "cutoff"),
        ({"publish_delay": timedelta(seconds=-1)}, "publish_delay"),
        ({"publish_delay": timedelta(microseconds=1)}, "publish_delay"),
        ({"start": datetime(2013, 1, 1)}, "start"),  # noqa: DTZ001  the wrong type on purpose
        ({"end": date(2012, 12, 31)}, "end"),
        ({"live_since": "2013-01-01"}, "live_since"),
        ({"owner": " "}, "owner"),
    ],
)
def test_a_wrong_feature_view_names_its_field(changes: dict[str, Any], field: str) -> None:
    """Declaration, field, value and what is allowed."""
    with pytest.raises(DeclarationError) as caught:
        view(**changes)

    assert caught.value.subject.endswith(f".{field}")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"timezone": "right/UTC"}, "timezone"),
        ({"timezone": "localtime"}, "timezone"),
        ({"timezone": "America"}, "timezone"),
        ({"timezone": "UTC", "cut_at": "00:00"}, "cut_at"),
        ({"timezone": "UTC", "cut_at": "36:01"}, "cut_at"),
        ({"timezone": "UTC", "cut_at": "5 pm"}, "cut_at"),
        ({"timezone": "UTC", "settlement": timedelta(hours=-1)}, "settlement"),
        ({"timezone": "UTC", "settlement": 48}, "settlement"),
    ],
)
def test_a_wrong_cutoff_names_its_field(fields: dict[str, Any], field: str) -> None:
    """Zones come from the pinned zone data only."""
    with pytest.raises(DeclarationError) as caught:
        Cutoff(**fields)

    assert caught.value.subject == f"Cutoff.{field}"


@pytest.mark.parametrize("event_key", [("flight", "flight"), ("seq",), "flight"])
def test_a_wrong_event_key_is_refused(event_key: Any) -> None:
    """Different, unreserved columns in a tuple."""
    with pytest.raises(DeclarationError, match="event_key"):
        FeatureLog(dataset="flights", rows="some.module:rows", event_key=event_key)


def test_a_rows_function_is_named_by_path() -> None:
    """So that nothing heavy is imported where DAG files are parsed."""
    with pytest.raises(DeclarationError, match="rows"):
        FeatureLog(dataset="flights", rows="some.module.rows")


@pytest.mark.parametrize(
    ("dtype", "right"), [("int64", True), ("decimal(38, 2)", True), ("decimal(39, 2)", False), ("int", False)]
)
def test_an_aggregate_declares_a_type_we_have(dtype: str, *, right: bool) -> None:
    """Decimals with precision and scale."""
    if right:
        assert max_of("fare", dtype=dtype).output(7) == "fare_max_7d"
    else:
        with pytest.raises(DeclarationError, match="dtype"):
            sum_of("fare", dtype=dtype)


def test_the_type_of_a_mean_is_not_for_choosing() -> None:
    """It is float64."""
    with pytest.raises(DeclarationError, match="float64"):
        Aggregate(function=Function.MEAN, column="fare", dtype="int64")


@pytest.mark.parametrize(
    "changes",
    [
        {"owner": "someone-else"}, {"end": date(2014, 1, 1)}, {"live_since": date(2013, 6, 1)}, {"catchup": True},
        {"preliminary": False},
    ],
)  # fmt: skip
def test_who_runs_a_view_and_until_when_is_not_content(changes: dict[str, Any]) -> None:
    """The digest of the declaration stays."""
    assert digest_of(view(**changes)) == digest_of(view())


@pytest.mark.parametrize(
    "changes",
    [
        {"start": date(2013, 1, 2)}, {"windows": (1, 14)}, {"entity": ("origin",)}, {"publish_delay": timedelta(hours=2)},
        {"aggregates": (mean("arr_delay"), share("late"))}, {"cutoff": Cutoff(timezone="America/New_York", cut_at="17:00")},
        {"log": FeatureLog(dataset="flights", rows="some.module:rows", event_key=("flight",))},
    ],
)  # fmt: skip
def test_what_a_view_computes_is_content(changes: dict[str, Any]) -> None:
    """The digest changes; the start too, because it bounds the earliest windows."""
    assert digest_of(view(**changes)) != digest_of(view())


def test_the_engine_and_the_guard_of_a_training_set_are_not_content() -> None:
    """Engines answer alike; a guard lets through or not."""
    assert digest_of(training_set(engine="duckdb", quality="strict", start=date(2013, 2, 1))) == digest_of(training_set())
    assert digest_of(training_set(ttl=timedelta(0))) != digest_of(training_set())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"engine": "pandas"}, "numpy"),
        ({"views": ()}, "at least one"),
        ({"views": (view(), view())}, "each view and log once"),
        ({"views": (view(), view(name="again"))}, "differ between views"),
        ({"views": (view(entity=("origin",)),)}, "origin"),
        ({"ttl": timedelta(seconds=-1)}, "zero or more"),
        ({"labels": "delayed"}, "LabelSet"),
        ({"end": date(2012, 1, 1)}, "2013-01-01"),
        ({"owner": ""}, "answers for it"),
    ],
)
def test_a_wrong_training_set_says_what_is_allowed(changes: dict[str, Any], says: str) -> None:
    """Repeating the value."""
    with pytest.raises(DeclarationError, match=says):
        training_set(**changes)


def test_the_first_day_of_labels_is_the_latest_start_of_the_views() -> None:
    """Unless it is declared."""
    later = view(name="later", windows=(3,), start=date(2013, 2, 1))

    assert training_set(view(), later).first_day == date(2013, 2, 1)
    assert training_set(view(), later, start=date(2013, 3, 1)).first_day == date(2013, 3, 1)


def test_maturity_is_a_duration() -> None:
    """Whole seconds, zero or more."""
    with pytest.raises(DeclarationError, match="maturity"):
        replace(training_set().labels, maturity=3)
    assert LabelSet(name="a", dataset="b", rows="c:d", entity=("e",)).maturity == timedelta(0)


@pytest.mark.parametrize("buckets", [0, 1001, 2.0, True])
def test_buckets_are_a_number_of_tasks(buckets: object) -> None:
    """At least one, and no more than Airflow maps."""
    with pytest.raises(DeclarationError, match="a whole number from 1 to 1000"):
        training_set(view(), buckets=buckets)


def test_a_log_is_partitioned_by_one_of_its_clocks() -> None:
    """And by which of them changes no digest: where rows lie changes no feature."""
    by_arrival = replace(view().log, partitions="available_time")

    assert (view().log.by_arrival, by_arrival.by_arrival) == (False, True)
    assert digest_of(by_arrival) == digest_of(view().log)
    with pytest.raises(DeclarationError, match="partitions"):
        replace(view().log, partitions="day")


def test_a_holdout_starts_on_a_day() -> None:
    """A date and not an instant."""
    with pytest.raises(DeclarationError, match="start"):
        TimeHoldout(start=datetime(2013, 1, 1))  # noqa: DTZ001  the wrong type on purpose


def test_zones_do_not_come_from_the_machine() -> None:
    """The same object for the same name, from the package."""
    assert zone("America/New_York") is zone("America/New_York")
    assert str(zone("America/New_York")) == "America/New_York"


def test_declarations_load_nothing_heavy() -> None:
    """They are imported wherever DAG files are parsed."""
    code = (
        "import sys, headrace.spec.training_set; "
        "print([m for m in ('numpy', 'pyarrow', 'pandas', 'duckdb', 'tzdata') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
