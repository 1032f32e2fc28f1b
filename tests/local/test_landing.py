"""The example lands as an airport would deliver it, byte for byte as its source has it."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from local.errors import HouseError
from local.landing import SourceObject, asked_days, flights_file, flights_table, source_objects

HEADER = b"year,month,day,dep_time,origin,hour\n"
FIRST_WEEK = asked_days(date(2013, 1, 1), 7)


@pytest.fixture(scope="module")
def week() -> list[SourceObject]:
    """The first seven days of the real source."""
    return list(source_objects(flights_table(flights_file()), FIRST_WEEK))


def test_rows_are_cut_by_origin_and_scheduled_hour_and_stay_as_they_are() -> None:
    """Quirks are kept: `NA`, a one-digit hour, the rows' order; other days are left out; a last line need not end."""
    table = HEADER + b"2013,1,1,517,EWR,5\n2013,1,1,NA,LGA,5\n2013,1,1,533,EWR,5\n2013,1,2,1,EWR,5\n2013,1,1,2359,EWR,23"

    assert list(source_objects(table, [date(2013, 1, 1)])) == [
        SourceObject(key="flights/2013/01/01/EWR-05.csv", content=HEADER + b"2013,1,1,517,EWR,5\n2013,1,1,533,EWR,5\n"),
        SourceObject(key="flights/2013/01/01/EWR-23.csv", content=HEADER + b"2013,1,1,2359,EWR,23"),
        SourceObject(key="flights/2013/01/01/LGA-05.csv", content=HEADER + b"2013,1,1,NA,LGA,5\n"),
    ]


def test_a_quoted_table_is_refused() -> None:
    """Cutting at commas would be wrong there."""
    with pytest.raises(HouseError, match="quotes or carriage returns"):
        list(source_objects(HEADER + b'2013,1,1,"1,2",EWR,5\n', FIRST_WEEK))


def test_the_first_week_has_373_objects(week: list[SourceObject]) -> None:
    """The figure of the README."""
    assert (len(week), week[0].key, week[-1].key) == (373, "flights/2013/01/01/EWR-05.csv", "flights/2013/01/07/LGA-21.csv")


def test_the_first_week_has_every_flight_of_its_days(week: list[SourceObject]) -> None:
    """6,099 flights: none lost, none doubled."""
    rows = Counter(one.key[8:18] for one in week for _ in one.content.splitlines()[1:])

    assert list(rows.values()) == [842, 943, 914, 915, 720, 832, 933]


def test_days_without_data_are_refused() -> None:
    """The example covers 2013."""
    with pytest.raises(HouseError, match="between 2013-01-01 and 2013-12-31"):
        asked_days(date(2013, 12, 30), 3)


def test_no_day_is_refused() -> None:
    """`--days 0` is a mistake, not a wish."""
    with pytest.raises(HouseError, match="found no day"):
        asked_days(date(2013, 1, 1), 0)
