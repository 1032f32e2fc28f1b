"""What has to run before a range that does not begin where the data does."""

from __future__ import annotations

from datetime import date

from headrace.spec.load import load_declarations

from local.environment import DECLARATIONS
from local.lead_in import lead_in


def test_a_range_in_the_middle_needs_two_snapshots_and_the_weeks_behind_them() -> None:
    """Labels of 1 February see the snapshots of 31 and 30 January; the older one covers 24 to 30 January."""
    before = lead_in(load_declarations(DECLARATIONS), date(2013, 2, 1))

    assert before.snapshot == {"carrier_delays.snapshot": ["2013-01-30", "2013-01-31"]}
    assert before.compact == {"flights.compact": [f"2013-01-{day}" for day in range(24, 32)]}


def test_where_the_data_begins_there_is_nothing_before() -> None:
    """Days before the declared start are absent."""
    before = lead_in(load_declarations(DECLARATIONS), date(2013, 1, 1))

    assert before.days == set()
    assert lead_in(load_declarations(DECLARATIONS), date(2013, 1, 2)).days == {date(2013, 1, 1)}
