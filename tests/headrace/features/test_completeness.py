"""How complete a day was, and how late its events came."""

from __future__ import annotations

from datetime import date, timedelta

import pyarrow as pa
from headrace.features.completeness import Completeness, completeness
from headrace.features.cutoff import day_interval
from headrace.features.events import event_codes
from headrace.features.log import open_log

from tests.headrace.features.build import at, log, view

DAY = day_interval(view().cutoff, date(2013, 1, 3))


def report(rows: pa.Table, event_key: tuple[str, ...] = (), knowledge: str = "2013-01-04T05:00") -> Completeness:
    opened = open_log(rows, ("carrier",))
    return completeness(opened, event_codes(opened, event_key), DAY, at(knowledge))


def test_an_event_that_arrives_exactly_at_the_knowledge_time_has_arrived() -> None:
    """A microsecond later it is too late; events of other days are not this day's."""
    found = report(
        log(
            ("AA", "2013-01-03T12:00", "2013-01-04T05:00"),
            ("AA", "2013-01-03T12:00", "2013-01-04T05:00:00.000001"),
            ("AA", "2013-01-04T05:00", "2013-01-04T05:00"),
            ("AA", "2013-01-03T04:59:59", "2013-01-04T05:00"),
            columns=(),
        )
    )

    assert (found.known, found.arrived, found.too_late, found.share) == (2, 1, 1, 0.5)


def test_versions_of_an_event_count_once_by_the_first_to_arrive() -> None:
    """A correction that comes late makes no event late."""
    rows = log(
        ("AA", "2013-01-03T12:00", "2013-01-09T05:00", "f1"),
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", "f1"),
        columns=("flight",),
    )
    found = report(rows, ("flight",))

    assert (found.known, found.arrived, found.lateness.worst) == (1, 1, timedelta(hours=2))


def test_marks_are_no_events() -> None:
    """Neither the tombstone nor the retraction of an event that was never reported."""
    rows = log(
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", "f1", True, False),
        ("AA", "2013-01-03T12:00", "2013-01-03T14:00", "f2", False, True),
        columns=("flight", "tombstone", "retraction"),
    )
    assert report(rows, ("flight",)).known == 0


def test_quantiles_are_the_lateness_of_some_event() -> None:
    """Nearest rank over a hundred events, 1 to 100 minutes late."""
    rows = [("AA", "2013-01-03T12:00", f"2013-01-03T{12 + n // 60:02}:{n % 60:02}") for n in range(1, 101)]

    found = report(log(*rows, columns=())).lateness

    assert [found.p50, found.p90, found.p99, found.worst] == [timedelta(minutes=n) for n in (50, 90, 99, 100)]


def test_a_day_without_events_has_no_share() -> None:
    """Nothing of nothing is not everything."""
    found = report(log(columns=()))

    assert (found.known, found.share, found.lateness.p50, found.lateness.worst) == (0, None, None, None)
