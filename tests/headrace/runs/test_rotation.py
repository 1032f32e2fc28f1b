"""Every partition has its night."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta

from headrace.runs.rotation import share_of
from hypothesis import given
from hypothesis import strategies as st

YEAR = [f"2013-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29)]


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.integers(1, 60))
def test_over_any_nights_in_a_row_each_has_one_turn(first: date, nights: int) -> None:
    """Nothing is left out, nothing is read twice."""
    turns = Counter(name for back in range(nights) for name in share_of(YEAR[:40], first + timedelta(days=back), nights))

    assert turns == Counter(YEAR[:40])


def test_a_night_is_a_small_part() -> None:
    """336 days over 28 nights: about a dozen a night, never more than 25."""
    sizes = [len(share_of(YEAR, date(2026, 1, 1) + timedelta(days=back), 28)) for back in range(28)]

    assert sum(sizes) == 336
    assert max(sizes) <= 25
