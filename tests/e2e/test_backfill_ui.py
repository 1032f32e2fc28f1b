"""Backfills clicked in the UI: each ends as `docs/runbooks/backfill.md` says, and never leaves a stuck or wrong partition."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from headrace.lake.open import open_store
from headrace.manifests.read import latest, manifest_of, published

from local import landing
from local.environment import BUCKET
from tests.e2e.browser import browser_page, log_in
from tests.e2e.conftest import Week
from tests.e2e.screen import BackfillForm

pytestmark = [pytest.mark.servers, pytest.mark.timeout(1200)]

NAME = "flights_by_click"
DAG = f"{NAME}.compact"
SPRING = ["2013-03-09", "2013-03-10", "2013-03-11"]  # the clock goes forward on the 10th: 23 hours
AUTUMN = ["2013-11-02", "2013-11-03", "2013-11-04"]  # and back on the 3rd: 25
COUNTS = {"2013-03-10": 908, "2013-11-03": 902}  # counted in the source's own file


@pytest.fixture(scope="module")
def landed(week: Week) -> Week:
    """The days around both clock changes, beside the week."""
    table = landing.flights_table(landing.flights_file())
    days = [date.fromisoformat(day) for day in (*SPRING, *AUTUMN)]
    landing.land(week.house.s3, BUCKET, "landing", landing.source_objects(table, days))
    return week


@pytest.fixture
def page(landed: Week) -> Iterator[Any]:
    with browser_page() as page:
        log_in(page, landed.house)
        yield page


class Clicked:
    """Runs of the DAG since a moment, as the server knows them."""

    def __init__(self, week: Week) -> None:
        self.week = week
        self._before = {run["dag_run_id"] for run in week.runs(DAG)}

    def runs(self) -> list[dict[str, Any]]:
        return [run for run in self.week.runs(DAG) if run["dag_run_id"] not in self._before]

    def states(self) -> dict[str, str]:
        return {run["partition_key"]: run["state"] for run in self.runs()}

    def wait(self, wanted: dict[str, str], seconds: float = 400) -> None:
        self.week.wait(lambda: self.states() == wanted, f"{wanted} (now {self.states()})", seconds=seconds)


def digests(lake_uri: str, days: list[str]) -> dict[str, str]:
    release = published(open_store(lake_uri), NAME)
    return {day: release.partitions[day] for day in days}


def test_a_range_over_the_spring_clock_change(page: Any, landed: Week, lake_uri: str, screenshots: Path) -> None:
    """Three days, one run each under the local date, every flight there; a second look offers nothing more."""
    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)

    assert "3 runs will be triggered" in form.fill(SPRING[0], SPRING[-1])
    page.screenshot(path=screenshots / "backfill.png")
    form.run()
    clicked.wait(dict.fromkeys(SPRING, "success"))

    starts = [run["run_after"] for run in sorted(clicked.runs(), key=lambda run: str(run["partition_key"]))]
    assert starts == ["2013-03-09T05:00:00Z", "2013-03-10T05:00:00Z", "2013-03-11T04:00:00Z"]
    lake = open_store(lake_uri)
    counts = manifest_of(lake, published(lake, NAME), "2013-03-10").counts
    assert counts.samples == COUNTS["2013-03-10"]
    again = BackfillForm(page, landed.house.url, DAG)
    assert "No runs matching selected criteria" in again.fill(SPRING[0], SPRING[-1])
    assert not again.may_run


def test_backwards_over_the_autumn_clock_change_and_all_of_it_again(page: Any, landed: Week, lake_uri: str) -> None:
    """The last day first; done again with *All Runs*, the same manifests."""
    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill(AUTUMN[0], AUTUMN[-1], backwards=True)
    form.run()
    clicked.wait(dict.fromkeys(AUTUMN, "success"))

    order = [run["partition_key"] for run in sorted(clicked.runs(), key=lambda run: str(run["start_date"]))]
    assert order == AUTUMN[::-1]
    lake, before = open_store(lake_uri), digests(lake_uri, AUTUMN)
    assert manifest_of(lake, published(lake, NAME), "2013-11-03").counts.samples == COUNTS["2013-11-03"]

    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    assert "3 runs will be triggered" in form.fill(AUTUMN[0], AUTUMN[-1], reprocess="all")
    form.run()
    clicked.wait(dict.fromkeys(AUTUMN, "success"))
    assert digests(lake_uri, AUTUMN) == before


def test_days_before_the_data_fail_at_once_and_publish_nothing(page: Any, landed: Week, lake_uri: str) -> None:
    """Airflow offers days before the DAG's start; the run says from when there is data, and is not tried again."""
    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill("2012-12-30", "2012-12-31")
    form.run()
    clicked.wait({"2012-12-30": "failed", "2012-12-31": "failed"})

    path = f"dags/{DAG}/dagRuns/{clicked.runs()[0]['dag_run_id']}/taskInstances/plan"
    assert landed.house.api.get(path)["try_number"] == 1
    assert "This DAG has data from 2013-01-01 to 2013-12-31" in str(landed.house.api.get(f"{path}/logs/1", full_content=True))
    found = latest(open_store(lake_uri), NAME)
    assert found is None or not any(name.startswith("2012") for name in found.release.partitions)


def test_a_range_in_the_future_or_upside_down_cannot_be_started(page: Any, landed: Week) -> None:
    """The button stays grey and says why."""
    future = (date.today() + timedelta(days=400)).isoformat()  # noqa: DTZ011 - any day far ahead will do
    form = BackfillForm(page, landed.house.url, DAG)
    assert "No runs matching selected criteria" in form.fill(future, future)
    assert not form.may_run

    form = BackfillForm(page, landed.house.url, DAG)
    assert "Start Date must be before the End Date" in form.fill("2013-01-03", "2013-01-01")
    assert not form.may_run


def test_one_that_waits_blocks_the_next_and_a_cancelled_one_is_finished_by_another(page: Any, landed: Week) -> None:
    """A paused DAG takes a backfill and waits; a second one makes nothing; cancelled, its days are marked failed and offered again."""
    api = landed.house.api
    api.patch(f"dags/{DAG}", {"is_paused": True})
    try:
        clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
        form.fill("2013-01-01", "2013-01-03")
        form.run()
        api.patch(f"dags/{DAG}", {"is_paused": True})  # the form may unpause; here it must wait
        clicked.week.wait(lambda: len(clicked.runs()) == 3, "three queued runs")

        second = BackfillForm(page, landed.house.url, DAG)
        second.fill("2013-01-05", "2013-01-05")
        second.run()
        assert len(clicked.runs()) == 3

        page.goto(f"{landed.house.url}/dags/{DAG}")
        page.get_by_role("button", name="Cancel backfill").click()
        clicked.week.wait(lambda: set(clicked.states().values()) <= {"failed", "success"}, "no run left waiting")
    finally:
        api.patch(f"dags/{DAG}", {"is_paused": False})

    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill("2013-01-01", "2013-01-03", reprocess="failed")
    form.run()
    clicked.wait({"2013-01-01": "success", "2013-01-02": "success", "2013-01-03": "success"})
