"""Percentiles, prices, freshness, and figures over runs."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from headrace.runs.errors import PricesRefused
from headrace.runs.freshness import due_at, freshness, ready_at
from headrace.runs.percentiles import percentiles
from headrace.runs.prices import Prices, cost_of, prices_from
from headrace.runs.report import merge
from headrace.runs.trends import stage_percentiles, task_percentiles
from headrace.stages import Spent, Stage
from hypothesis import given
from hypothesis import strategies as st

from include.datasets.flights import CARRIER_DELAYS, FLIGHT_DELAY, FLIGHTS
from tests.headrace.runs.records import FACTS, NOON, record, waited


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_percentiles_agree_with_numpys_inverted_distribution(values: list[float]) -> None:
    """Each is a value that occurred."""
    found = percentiles(values)

    assert found is not None
    assert [found.p50, found.p95, found.p99] == list(np.percentile(values, [50, 95, 99], method="inverted_cdf"))
    assert found.count == len(values)


def test_no_value_has_no_percentile() -> None:
    """Absence is not zero."""
    assert percentiles([]) is None


def test_figures_over_runs() -> None:
    """A run without a stage does not count as zero for it."""
    runs = [merge(FACTS, [record("write", 0, seconds=second, stages=waited(Stage.READ, second))]) for second in (1.0, 2.0, 9.0)]
    runs.append(merge(FACTS, [record("plan", seconds=4)]))
    reports = [run for run in runs if run is not None]

    assert stage_percentiles(reports) == {Stage.READ: percentiles([1.0, 2.0, 9.0])}
    assert task_percentiles(reports) == {"plan": percentiles([4.0]), "write": percentiles([1.0, 2.0, 9.0])}


def test_cost_is_cores_held_and_requests_made() -> None:
    """Half an hour on a core at 0.04, 2,000 reads at 0.4 and 1,000 writes at 5 a million: 0.02 + 0.0008 + 0.005."""
    prices = Prices(core_hour=0.04, get_1000=0.0004, put_1000=0.005)
    stages = {Stage.READ: Spent(times=2000), Stage.PUBLISH: Spent(times=1000), Stage.COMPUTE: Spent(times=9)}

    assert cost_of([record(seconds=1800, stages=stages)], prices) == pytest.approx(0.0258)


def test_prices_are_declared_as_text() -> None:
    """None declared is None, not free."""
    assert prices_from("") is None
    assert prices_from("core_hour=0.04, currency=EUR") == Prices(core_hour=0.04, currency="EUR")


@pytest.mark.parametrize(
    "text", ["core_hour", "core_hour=cheap", "core=1", "core_hour=1,core_hour=2", "core_hour=-1", "put_1000=nan"]
)
def test_wrong_prices_are_refused(text: str) -> None:
    """A price that is not understood is never read as zero."""
    with pytest.raises(PricesRefused, match="HEADRACE_PRICES"):
        prices_from(text)


@pytest.mark.parametrize(
    ("declared", "day", "ready"),
    [
        (FLIGHTS, date(2013, 1, 3), datetime(2013, 1, 4, 5, tzinfo=UTC)),
        (FLIGHTS, date(2013, 3, 10), datetime(2013, 3, 11, 4, tzinfo=UTC)),  # 23 hours long
        (FLIGHTS, date(2013, 11, 3), datetime(2013, 11, 4, 5, tzinfo=UTC)),  # 25
        (CARRIER_DELAYS, date(2013, 1, 3), datetime(2013, 1, 6, 5, tzinfo=UTC)),  # settled 48 hours later
        (FLIGHT_DELAY, date(2013, 1, 3), datetime(2013, 1, 5, 5, tzinfo=UTC)),  # labels known 24 hours later
    ],
)
def test_a_day_is_due_after_it_can_be_complete(declared: object, day: date, ready: datetime) -> None:
    """The end of the local day, the settlement, the labels' maturity; six hours later it is due."""
    assert ready_at(declared, day) == ready  # type: ignore[arg-type]
    assert due_at(declared, day) == ready + timedelta(hours=6)  # type: ignore[arg-type]


HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("kind", "queued", "ended", "expected"),
    [
        ("scheduled", -6 * HOUR, -HOUR, "in time"),
        ("scheduled", -6 * HOUR, HOUR, "late"),
        ("scheduled", -6 * HOUR, 40 * DAY, "late"),  # it began in time and took for ever
        ("scheduled", 12 * HOUR, 13 * HOUR, "late"),  # the scheduler stood still for a night
        ("scheduled", 3 * DAY, 3 * DAY + HOUR, "caught up"),
        ("scheduled", 4000 * DAY, 4000 * DAY + HOUR, "caught up"),
        ("asset_triggered", HOUR, 2 * HOUR, "late"),
        ("asset_triggered", 40 * DAY, 41 * DAY, None),
        ("backfill", HOUR, 2 * HOUR, None),
        ("manual", HOUR, 2 * HOUR, None),
    ],
)
def test_late_is_what_the_schedule_began_about_in_time(
    kind: str, queued: timedelta, ended: timedelta, expected: str | None
) -> None:
    """Instants from when it was due. Who begins long after that catches up; a backfill of an old day is nobody's fault."""
    found = freshness(NOON, kind, queued=NOON + queued, ended=NOON + ended)

    if found is None:
        assert expected is None
        return
    assert ("caught up" if found.caught_up else "late" if found.is_late else "in time") == expected
    assert (found.due, found.late) == (NOON, ended)


def test_nothing_expected_is_nothing_late() -> None:
    """A day after the last one."""
    assert freshness(None, "scheduled", queued=NOON, ended=NOON) is None
