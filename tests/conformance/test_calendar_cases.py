"""Faults of calendars, backfills and splits that others shipped, by the numbers of the list they stand in; each with the right outcome."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest
from headrace.features.cutoff import cutoff_instant, day_interval, day_of
from headrace.features.errors import TooEarlyError
from headrace.features.increment import advanced, arrived
from headrace.features.snapshot import compute_snapshot
from headrace.features.split import Part, split_column
from headrace.features.versions import preliminary_key, settled_key, version_to_publish
from headrace.sources.errors import ObjectRefused
from headrace.sources.text_cast import cast_texts
from headrace.spec.columns import Column
from headrace.spec.cutoff import Cutoff

from tests.headrace.features.build import at, labels, log, training_set, view
from tests.headrace.features.test_cutoff import ZONES

EVENTS = replace(view().log, event_key=("flight",))
COLUMNS = ("arr_delay", "late", "flight")


def hours(zone: str, day: date) -> float:
    return day_interval(Cutoff(timezone=zone), day).length / timedelta(hours=1)


def test_2_no_snapshot_holds_a_row_that_had_not_arrived() -> None:
    """Known as of T means arrived by T: an event of the day that landed a second after K is not in it, whatever its event time."""
    rows = log(
        ("AA", "2013-01-03T10:00", "2013-01-04T05:00:00", 1, False, "a"),
        ("AA", "2013-01-03T11:00", "2013-01-04T05:00:01", 9, False, "b"),
        columns=COLUMNS,
    )

    found = compute_snapshot(rows, view(log=EVENTS), date(2013, 1, 3), at("2013-01-04T05:00"))

    assert found.rows.column("flights_1d").to_pylist() == [1]


def test_43_a_leap_second_is_refused_with_its_row() -> None:
    """No parser drops it in silence, and none moves it to the next minute."""
    texts = pa.array(["2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z"])

    with pytest.raises(ObjectRefused, match=r"feed\.csv row 8 column at.*23:59:60"):
        cast_texts("feed.csv", texts, Column(name="at", type="timestamp[us, UTC]"), first_row=7)


@pytest.mark.parametrize("clock", ["2024-03-11T04:00:00", "2024-03-11T07:30:00", "2025-01-01T00:00:00"])
def test_45_cutoffs_do_not_depend_on_who_runs_and_when(clock: str) -> None:
    """On time, by hand in the night of the clock change, or a year later: the key names the day, and the day its instants."""
    declared = view(start=date(2024, 1, 1), cutoff=Cutoff(timezone="America/New_York"))
    key = preliminary_key(declared, date(2024, 3, 10))

    version = version_to_publish(declared, key, clock=at(clock))

    assert (str(version.key), version.published_at) == ("2024-03-10.preliminary.20240311T040000Z", at("2024-03-11T05:00"))


def test_46_a_repeated_midnight_counts_once_the_first_time() -> None:
    """Havana, 3 November 2024: the day begins at 04:00Z and not at 05:00Z, and at 04:30Z of the next nothing is published yet."""
    declared = view(start=date(2024, 1, 1), cutoff=Cutoff(timezone="America/Havana"))

    assert cutoff_instant(declared.cutoff, date(2024, 11, 2)) == at("2024-11-03T04:00")
    with pytest.raises(TooEarlyError):
        version_to_publish(declared, preliminary_key(declared, date(2024, 11, 3)), clock=at("2024-11-04T04:30"))


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Africa/Cairo", date(2024, 4, 26)),
        ("Asia/Beirut", date(2024, 3, 31)),
        ("America/Sao_Paulo", date(2018, 11, 4)),
        ("America/Santiago", date(2024, 9, 8)),
        ("America/Havana", date(2024, 3, 10)),
    ],
)
def test_47_a_day_without_its_midnight_begins_at_one(zone: str, day: date) -> None:
    """And has 23 hours, at whose first instant the wall clock shows 01:00."""
    from headrace.spec.zones import zone as rules

    begins = day_interval(Cutoff(timezone=zone), day).start

    assert begins.astimezone(rules(zone)).isoformat()[:16] == f"{day}T01:00"
    assert hours(zone, day) == 23


def test_49_half_an_hour_of_summer_time() -> None:
    """Lord Howe's day of the change has 23 and a half hours."""
    assert hours("Australia/Lord_Howe", date(2024, 10, 6)) == 23.5


def test_50_a_local_date_that_comes_twice_is_one_interval() -> None:
    """St. John's went from 00:01 on the 29th back to 23:01 on the 28th: the hour that followed belongs to the 29th, without a gap."""
    moment = datetime(2006, 10, 29, 2, 31, 30, tzinfo=UTC)

    assert day_of(Cutoff(timezone="America/St_Johns"), moment) == date(2006, 10, 29)


@pytest.mark.parametrize("zone", ZONES)
def test_51_twenty_years_of_days_tile_the_line(zone: str) -> None:
    """No hour is lost or counted twice, no window drifts after a change; no day is taken to have 24 hours."""
    cutoff = Cutoff(timezone=zone)
    ends = [cutoff_instant(cutoff, date(2018, 1, 1) + timedelta(days=number)) for number in range(20 * 365)]

    assert all(one <= two for one, two in pairwise(ends))
    assert abs((ends[-1] - ends[0]) - timedelta(days=len(ends) - 1)) <= timedelta(hours=3)
    assert all(timedelta(0) <= two - one <= timedelta(hours=27) for one, two in pairwise(ends))


def test_53_a_late_row_is_found_by_its_arrival() -> None:
    """An increment by event time would have read the 3rd long ago; by arrival the row counts from the day it landed on."""
    declared = view(log=replace(EVENTS, partitions="available_time"))
    parts = {
        date(2013, 1, 3): log(("AA", "2013-01-03T10:00", "2013-01-03T12:00", 1, False, "a"), columns=COLUMNS),
        date(2013, 1, 4): log(("AA", "2013-01-04T10:00", "2013-01-04T12:00", 2, False, "b"), columns=COLUMNS),
        date(2013, 1, 5): log(("AA", "2013-01-03T11:00", "2013-01-05T12:00", 9, False, "late"), columns=COLUMNS),
    }
    state, found = None, []
    for day, rows in parts.items():
        state = advanced(state, [arrived(rows, declared, day, day)], declared, day)
        found += compute_snapshot(state, declared, day, preliminary_key(declared, day).knowledge).rows.to_pylist()

    assert [(row["flights_1d"], row["flights_7d"]) for row in found] == [(1, 1), (1, 2), (0, 3)]


def test_54_a_backfill_in_any_order_is_the_daily_runs() -> None:
    """One version of each day is a function of the day: whatever else was computed before, and whatever arrived since."""
    declared = view(log=EVENTS)
    early = log(("AA", "2013-01-03T10:00", "2013-01-03T12:00", 1, False, "a"), columns=COLUMNS)
    later = log(("AA", "2013-01-03T10:00", "2013-01-09T12:00", 7, True, "a"), columns=COLUMNS)
    days = [date(2013, 1, day) for day in (3, 4, 5)]

    def settled(rows: pa.Table, day: date) -> pa.Table:
        return compute_snapshot(rows, declared, day, settled_key(declared, day).knowledge).rows

    on_time = {day: settled(early, day) for day in days}

    assert all(settled(pa.concat_tables([later, early]), day).equals(on_time[day]) for day in (days[2], days[0], days[1]))


def test_55_a_label_known_after_the_cut_trains_nobody() -> None:
    """Asked a day before the holdout, known three days later: purged, because its outcome lies in the holdout's time."""
    asked = labels(("AA", "2013-01-04T05:00"), ("AA", "2013-01-02T04:59"), known_after=timedelta(days=3))

    assert split_column(training_set(), asked).to_pylist() == [Part.PURGED, Part.TRAIN]
