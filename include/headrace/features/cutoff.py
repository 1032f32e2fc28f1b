"""The instants at which local days end: one pure function, and the intervals it cuts.

`C(D)` is the first instant whose local wall clock has reached day D's cut (for `24:00`: whose local date is after D).
Day D is the half-open interval `[C(D-1), C(D))` between UTC instants, so days of 23, 25 or 23.5 hours, days that begin
at one o'clock because midnight is missing, midnights that happen twice and dates that never happen (an empty interval)
all tile the line. Nothing here truncates a local time: in St. John's the clock once went from 00:01 back to 23:01, and
truncation would return the night to the day that had ended.

The usual shortcut, local midnight with `fold=0`, is computed first and checked against the definition. It fails where the
clock skips over midnight from before it (Toronto, 1919-03-31, 23:30 -> 00:30); then the offsets around the day are walked.
The answer is as good as the zone data, whose version is `headrace.spec.zones.zone_data_version`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from headrace.features.errors import SnapshotError
from headrace.spec.cutoff import Cutoff
from headrace.spec.zones import zone

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)
_SECOND: Final = timedelta(seconds=1)
_WIDEST_OFFSET: Final = timedelta(hours=26)
_STRIDE: Final = timedelta(minutes=30)  # no zone has ever changed its offset twice within it


@dataclass(frozen=True)
class Interval:
    """A half-open interval `[start, end)` between UTC instants; empty when they are equal."""

    start: datetime
    end: datetime

    def __contains__(self, instant: datetime) -> bool:
        return self.start <= instant < self.end

    @property
    def length(self) -> timedelta:
        """Elapsed time, not wall-clock time."""
        return self.end - self.start


@dataclass(frozen=True)
class Segment:
    """A half-open stretch of UTC during which the zone's offset does not change."""

    start: datetime
    end: datetime
    offset: timedelta

    def wall(self, instant: datetime) -> datetime:
        """The naive wall clock at `instant` under this segment's offset."""
        return instant.replace(tzinfo=None) + self.offset


@lru_cache(maxsize=8192)
def cutoff_instant(cutoff: Cutoff, day: date) -> datetime:
    """`C(day)`: the first instant, in UTC, whose local wall clock has reached the day's cut."""
    rules = zone(cutoff.timezone)
    target = datetime.combine(day, time()) + cutoff.after_midnight
    shortcut = target.replace(tzinfo=rules).astimezone(UTC)
    if _wall(rules, shortcut) >= target > _wall(rules, shortcut - _MICRO):
        return shortcut
    return first_instant(rules, target)


def first_instant(rules: tzinfo, target: datetime) -> datetime:
    """The definition itself: the first UTC instant whose wall clock is at or past the naive `target`."""
    around = target.replace(tzinfo=UTC)
    for segment in offset_segments(rules, around - _WIDEST_OFFSET, around + _WIDEST_OFFSET):
        reached = max(segment.start, (target - segment.offset).replace(tzinfo=UTC))
        if reached < segment.end:
            return reached
    raise SnapshotError(
        f"zone {rules}",
        found=f"no instant within {_WIDEST_OFFSET} of {target} whose wall clock reaches it",
        expected="offsets below 26 hours",
        remedy="Check the zone data.",
    )


def day_interval(cutoff: Cutoff, day: date) -> Interval:
    """Day D: `[C(D-1), C(D))`. Empty for a date the zone skipped."""
    return Interval(cutoff_instant(cutoff, day - _DAY), cutoff_instant(cutoff, day))


def window_interval(cutoff: Cutoff, day: date, days: int) -> Interval:
    """The last `days` local days up to and including D: `[C(D-days), C(D))`."""
    return Interval(cutoff_instant(cutoff, day - days * _DAY), cutoff_instant(cutoff, day))


def day_of(cutoff: Cutoff, instant: datetime) -> date:
    """The day whose interval holds `instant`. Raises SnapshotError for a naive instant."""
    if instant.tzinfo is None:
        raise SnapshotError("instant", found=f"naive {instant}", expected="a time zone", remedy="Give the instant a zone.")
    day = (_wall(zone(cutoff.timezone), instant.astimezone(UTC)) + _DAY - cutoff.after_midnight).date()
    while instant >= cutoff_instant(cutoff, day):
        day += _DAY
    while instant < cutoff_instant(cutoff, day - _DAY):
        day -= _DAY
    return day


def settled_at(cutoff: Cutoff, day: date) -> datetime:
    """`C(D)` plus the settlement: the knowledge time of the settled snapshot, in elapsed time."""
    return cutoff_instant(cutoff, day) + cutoff.settlement


def local_date_interval(timezone: str, day: date) -> Interval | None:
    """The smallest interval that holds every instant whose local date is `day`; None for a date the zone skipped.

    Wider than `day_interval` where the clock went back over midnight: the date then happened twice.
    """
    midnight = datetime.combine(day, time())
    around = midnight.replace(tzinfo=UTC)
    span = list(offset_segments(zone(timezone), around - _WIDEST_OFFSET, around + _DAY + _WIDEST_OFFSET))
    starts = [max(part.start, (midnight - part.offset).replace(tzinfo=UTC)) for part in span]
    ends = [min(part.end, (midnight + _DAY - part.offset).replace(tzinfo=UTC)) for part in span]
    present = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    return Interval(min(present)[0], max(end for _, end in present)) if present else None


def local_dates(timezone: str, interval: Interval) -> tuple[date, date] | None:
    """The first and last local date that occur in `interval`, both inclusive; None when it is empty."""
    walls = [
        (part.wall(part.start).date(), part.wall(part.end - _MICRO).date())
        for part in offset_segments(zone(timezone), interval.start, interval.end)
    ]
    return (min(first for first, _ in walls), max(last for _, last in walls)) if walls else None


def offset_segments(rules: tzinfo, start: datetime, end: datetime) -> Iterator[Segment]:
    """The stretches of constant offset that tile `[start, end)`, in order."""
    begin, here = start, start
    while here < end:
        there = min(here + _STRIDE, end)
        if _offset(rules, there) != _offset(rules, here):
            change = _change_between(rules, here, there)
            yield Segment(begin, change, _offset(rules, begin))
            begin = change
        here = there
    if begin < end:
        yield Segment(begin, end, _offset(rules, begin))


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01 UTC, exact."""
    return (instant - EPOCH) // _MICRO


def from_micros(micros: int) -> datetime:
    """The inverse of `to_micros`, in UTC."""
    return EPOCH + micros * _MICRO


def _change_between(rules: tzinfo, before: datetime, after: datetime) -> datetime:
    """The first instant in `(before, after]` with a new offset; zone data changes on whole seconds."""
    low, high = before, after
    while high - low > _SECOND:
        middle = low + (high - low) // _SECOND // 2 * _SECOND
        if _offset(rules, middle) == _offset(rules, before):
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)


def _wall(rules: tzinfo, instant: datetime) -> datetime:
    return instant.astimezone(rules).replace(tzinfo=None)


def _offset(rules: tzinfo, instant: datetime) -> timedelta:
    return _wall(rules, instant) - instant.replace(tzinfo=None)
