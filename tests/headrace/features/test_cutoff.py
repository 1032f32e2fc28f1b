"""Cutoffs against every calendar oddity we know of."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from headrace.features.cutoff import (
    Interval,
    cutoff_instant,
    day_interval,
    day_of,
    first_instant,
    from_micros,
    local_date_interval,
    local_dates,
    settled_at,
    to_micros,
)
from headrace.features.errors import SnapshotError
from headrace.spec.cutoff import Cutoff
from headrace.spec.zones import zone, zone_data_version
from hypothesis import given, settings
from hypothesis import strategies as st

ZONES = (
    "UTC", "America/New_York", "America/Havana", "Africa/Cairo", "Asia/Beirut", "America/Sao_Paulo", "America/Santiago",
    "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia", "Pacific/Kwajalein", "America/Toronto", "Europe/London",
    "Europe/Dublin", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Pyongyang", "Africa/Casablanca", "Antarctica/Troll",
    "America/Caracas", "Asia/Tehran", "Asia/Gaza", "Pacific/Chatham", "Pacific/Kiritimati", "America/Scoresbysund",
    "Europe/Istanbul", "Asia/Amman", "Africa/Juba", "Africa/Monrovia", "America/Asuncion", "Atlantic/Azores", "Antarctica/Casey",
)  # fmt: skip


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "day", "begins", "ends"),
    [
        ("UTC", date(2024, 2, 29), "2024-02-29T00:00", "2024-03-01T00:00"),
        ("America/New_York", date(2013, 3, 10), "2013-03-10T05:00", "2013-03-11T04:00"),  # 23 hours
        ("America/New_York", date(2013, 11, 3), "2013-11-03T04:00", "2013-11-04T05:00"),  # 25 hours
        ("America/Havana", date(2024, 11, 3), "2024-11-03T04:00", "2024-11-04T05:00"),  # midnight happens twice: the first
        ("America/Havana", date(2024, 3, 10), "2024-03-10T05:00", "2024-03-11T04:00"),  # midnight is missing
        ("Africa/Cairo", date(2024, 4, 26), "2024-04-25T22:00", "2024-04-26T21:00"),
        ("Asia/Beirut", date(2024, 3, 31), "2024-03-30T22:00", "2024-03-31T21:00"),
        ("America/Sao_Paulo", date(2018, 11, 4), "2018-11-04T03:00", "2018-11-05T02:00"),
        ("America/Santiago", date(2024, 9, 8), "2024-09-08T04:00", "2024-09-09T03:00"),
        ("Australia/Lord_Howe", date(2024, 10, 6), "2024-10-05T13:30", "2024-10-06T13:00"),  # 23.5 hours
        ("America/St_Johns", date(2006, 10, 29), "2006-10-29T02:30", "2006-10-30T03:30"),  # clock went back to the 28th
        ("Pacific/Apia", date(2011, 12, 30), "2011-12-30T10:00", "2011-12-30T10:00"),  # never happened
        ("Pacific/Apia", date(2011, 12, 31), "2011-12-30T10:00", "2011-12-31T10:00"),
        ("America/Toronto", date(1919, 3, 31), "1919-03-31T04:30", "1919-04-01T04:00"),  # 23:30 jumped over midnight to 00:30
    ],
)
def test_a_day_is_the_interval_between_its_cutoffs(name: str, day: date, begins: str, ends: str) -> None:
    """Days of 23, 23.5 and 25 hours, missing, repeated and skipped ones have their exact instants."""
    assert day_interval(Cutoff(timezone=name), day) == Interval(at(begins), at(ends))


def test_the_shortcut_alone_would_be_half_an_hour_late_in_toronto_in_1919() -> None:
    """Local midnight with fold 0 is not the first instant of the day when the clock jumps over midnight."""
    naive = datetime(1919, 3, 31, tzinfo=ZoneInfo("America/Toronto")).astimezone(UTC)

    assert naive - cutoff_instant(Cutoff(timezone="America/Toronto"), date(1919, 3, 30)) == timedelta(minutes=30)


@pytest.mark.parametrize(
    ("cut_at", "ends"),
    [("17:00", "2024-01-10T22:00"), ("24:00", "2024-01-11T05:00"), ("28:00", "2024-01-11T09:00"), ("00:30", "2024-01-10T05:30")],
)
def test_a_cut_hour_moves_the_end_of_the_day(cut_at: str, ends: str) -> None:
    """A business day ends in the afternoon, a late one in the next morning, both counted from the day's own midnight."""
    assert cutoff_instant(Cutoff(timezone="America/New_York", cut_at=cut_at), date(2024, 1, 10)) == at(ends)


def test_a_business_day_across_a_clock_change_is_23_hours() -> None:
    """From five to five on the day the clock goes forward."""
    day = day_interval(Cutoff(timezone="America/New_York", cut_at="17:00"), date(2024, 3, 10))

    assert day.length == timedelta(hours=23)


def test_settlement_is_elapsed_time() -> None:
    """48 hours after the cutoff, also when a clock change lies between."""
    assert settled_at(Cutoff(timezone="America/New_York"), date(2013, 3, 9)) == at("2013-03-12T05:00")


def test_the_instant_of_the_cutoff_belongs_to_the_next_day() -> None:
    """Half-open: the cutoff itself is tomorrow, a microsecond before is today."""
    cutoff = Cutoff(timezone="America/New_York")

    assert day_of(cutoff, at("2013-01-04T05:00")) == date(2013, 1, 4)
    assert day_of(cutoff, at("2013-01-04T04:59:59.999999")) == date(2013, 1, 3)


def test_a_night_that_falls_back_over_midnight_stays_in_the_day_that_began() -> None:
    """St. John's 2006: the wall clock shows the 28th again, the day is the 29th."""
    instant = at("2006-10-29T02:31:30")

    assert instant.astimezone(ZoneInfo("America/St_Johns")).date() == date(2006, 10, 28)
    assert day_of(Cutoff(timezone="America/St_Johns"), instant) == date(2006, 10, 29)


def test_the_local_date_of_such_a_night_happens_twice() -> None:
    """The instants whose local date is the 28th reach beyond the end of the day of the 28th."""
    found = local_date_interval("America/St_Johns", date(2006, 10, 28))

    assert found == Interval(at("2006-10-28T02:30"), at("2006-10-29T03:30"))


def test_a_skipped_date_has_no_instant() -> None:
    """Samoa had no 30 December 2011."""
    assert local_date_interval("Pacific/Apia", date(2011, 12, 30)) is None


def test_local_dates_of_an_interval_include_both_ends() -> None:
    """From New York's midnight to the next one it is one date; a microsecond more is two."""
    day = day_interval(Cutoff(timezone="America/New_York"), date(2013, 11, 3))

    assert local_dates("America/New_York", day) == (date(2013, 11, 3), date(2013, 11, 3))
    longer = Interval(day.start, day.end + timedelta(microseconds=1))
    assert local_dates("America/New_York", longer) == (date(2013, 11, 3), date(2013, 11, 4))
    assert local_dates("America/New_York", Interval(day.start, day.start)) is None


def test_a_naive_instant_has_no_day() -> None:
    """Without a zone it names no moment."""
    with pytest.raises(SnapshotError) as caught:
        day_of(Cutoff(timezone="UTC"), datetime(2024, 1, 1))  # noqa: DTZ001  naive on purpose

    assert "naive" in caught.value.found


@pytest.mark.parametrize("name", ZONES)
def test_days_tile_twenty_years(name: str) -> None:
    """Each day begins where the one before ended, never runs backwards, and holds its own noon."""
    cutoff = Cutoff(timezone=name)
    days = [date(2004, 1, 1) + timedelta(days=n) for n in range(366 * 20)]
    intervals = [day_interval(cutoff, day) for day in days]

    assert all(one.end == two.start for one, two in pairwise(intervals))
    assert all(interval.start <= interval.end for interval in intervals)
    for day, interval in zip(days, intervals, strict=True):
        if interval.length > timedelta(0):
            assert day_of(cutoff, interval.start) == day
            assert day_of(cutoff, interval.end - timedelta(microseconds=1)) == day


@given(
    name=st.sampled_from(ZONES),
    day=st.dates(date(1900, 1, 1), date(2037, 12, 31)),
    cut=st.sampled_from(["24:00", "17:00", "02:30", "00:01", "28:00", "36:00"]),
)
@settings(max_examples=300, deadline=None)
def test_the_cutoff_is_what_its_definition_says(name: str, day: date, cut: str) -> None:
    """The shortcut, where it is taken, equals the walk over the offsets."""
    cutoff = Cutoff(timezone=name, cut_at=cut)
    target = datetime(day.year, day.month, day.day) + cutoff.after_midnight  # noqa: DTZ001  a wall clock

    assert cutoff_instant(cutoff, day) == first_instant(zone(name), target)


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001  hypothesis wants naive bounds
def test_microseconds_are_exact(moment: datetime) -> None:
    """There and back without loss."""
    instant = moment.replace(tzinfo=UTC)

    assert from_micros(to_micros(instant)) == instant


def test_the_zone_data_names_its_version() -> None:
    """Snapshots record it."""
    assert zone_data_version().startswith("tzdata 20")
