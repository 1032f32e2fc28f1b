"""Backfills clicked in the UI: each ends as `docs/runbooks/backfill.md` says, and never leaves a stuck or wrong partition."""

from __future__ import annotations

import time
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
SPRING = ["2013-03-09", "2013-03-10"]  # the clock goes forward on the 10th: 23 hours
AUTUMN = ["2013-11-02", "2013-11-03"]  # and back on the 3rd: 25
COUNTS = {"2013-03-10": 908, "2013-11-03": 902}  # counted in the source's own file
SCHEDULED = "2013-01-03"  # the day that the schedule ran for another name


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
    """Runs of a DAG since a moment, as the server knows them."""

    def __init__(self, week: Week, dag: str = DAG) -> None:
        self.week, self.dag = week, dag
        self._before = {run["dag_run_id"] for run in week.runs(dag)}

    def runs(self) -> list[dict[str, Any]]:
        return [run for run in self.week.runs(self.dag) if run["dag_run_id"] not in self._before]

    def states(self) -> dict[str, str]:
        return {run["partition_key"]: run["state"] for run in self.runs()}

    def is_over(self) -> bool:
        """Airflow closes a backfill some seconds after its last run; until then it takes no other."""
        return all(one["completed_at"] is not None for one in self.week.house.api.get("backfills", dag_id=self.dag)["backfills"])

    def wait(self, wanted: dict[str, str], seconds: float = 400) -> None:
        deadline = time.monotonic() + seconds
        while self.states() != wanted or not self.is_over():
            if time.monotonic() > deadline:
                pytest.fail(f"{self.dag}: not within {seconds:.0f} s {wanted}, but {self.states()}")
            self.week.house.pause(1.0)


def shards(lake_uri: str, name: str, day: str) -> list[str]:
    lake = open_store(lake_uri)
    return [shard.sha256 for shard in manifest_of(lake, published(lake, name), day).shards]


def samples(lake_uri: str, day: str) -> int:
    lake = open_store(lake_uri)
    return manifest_of(lake, published(lake, NAME), day).counts.samples


def test_a_range_over_the_spring_clock_change(page: Any, landed: Week, lake_uri: str, screenshots: Path) -> None:
    """One run a local day, the day of 23 hours among them, every flight there; a second look offers nothing more."""
    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)

    form.fill(SPRING[0], SPRING[-1], at_once=4)
    form.says("2 runs will be triggered")
    page.screenshot(path=screenshots / "backfill.png")
    form.run()
    clicked.wait(dict.fromkeys(SPRING, "success"))

    starts = {run["partition_key"]: run["partition_date"] for run in clicked.runs()}
    assert starts == {"2013-03-09": "2013-03-09T05:00:00Z", "2013-03-10": "2013-03-10T05:00:00Z"}
    assert samples(lake_uri, "2013-03-10") == COUNTS["2013-03-10"]
    again = BackfillForm(page, landed.house.url, DAG)
    again.fill(SPRING[0], SPRING[-1])
    again.says("No runs matching selected criteria")
    assert not again.may_run


def test_backwards_over_the_autumn_clock_change_and_all_of_it_again(page: Any, landed: Week, lake_uri: str) -> None:
    """The last day first, the day of 25 hours; done again with *All Runs*, the same manifests and no new release."""
    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill(AUTUMN[0], AUTUMN[-1], backwards=True)
    form.run()
    clicked.wait(dict.fromkeys(AUTUMN, "success"))

    order = [run["partition_key"] for run in sorted(clicked.runs(), key=lambda run: str(run["start_date"]))]
    assert order == AUTUMN[::-1]
    assert samples(lake_uri, "2013-11-03") == COUNTS["2013-11-03"]
    before = published(open_store(lake_uri), NAME)

    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill(AUTUMN[0], AUTUMN[-1], reprocess="all", at_once=4)
    form.says("2 runs will be triggered")
    form.run()
    clicked.wait(dict.fromkeys(AUTUMN, "success"))
    assert published(open_store(lake_uri), NAME) == before


def test_the_chain_follows_each_day(page: Any, landed: Week, lake_uri: str) -> None:
    """A day of both roots clicked again: the training set follows by itself, once, with the same bytes."""
    names = ("flights", "carrier_delays", "flight_delay")
    before = {name: published(open_store(lake_uri), name).digest for name in names}
    followed = Clicked(landed, "flight_delay.build")

    for root in ("flights.compact", "carrier_delays.snapshot"):
        form = BackfillForm(page, landed.house.url, root)
        form.fill("2013-01-02", "2013-01-02", reprocess="all")
        form.says("1 run will be triggered")
        form.run()

    followed.wait({"2013-01-02": "success"})
    assert [run["run_type"] for run in followed.runs()] == ["asset_triggered"]
    assert {name: published(open_store(lake_uri), name).digest for name in names} == before


def test_a_day_before_the_data_fails_at_once_and_publishes_nothing(page: Any, landed: Week, lake_uri: str) -> None:
    """Airflow offers days before the DAG's start; the run says from when there is data, and is not tried again."""
    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill("2012-12-31", "2012-12-31")
    form.run()
    clicked.wait({"2012-12-31": "failed"})

    path = f"dags/{DAG}/dagRuns/{clicked.runs()[0]['dag_run_id']}/taskInstances/plan"
    assert landed.house.api.get(path)["try_number"] == 1
    assert "This DAG has data from 2013-01-01 to 2013-12-31" in str(landed.house.api.get(f"{path}/logs/1", full_content=True))
    found = latest(open_store(lake_uri), NAME)
    assert found is None or not any(name.startswith("2012") for name in found.release.partitions)


def test_a_range_in_the_future_or_upside_down_cannot_be_started(page: Any, landed: Week) -> None:
    """The button stays grey and says why."""
    future = (date.today() + timedelta(days=400)).isoformat()  # noqa: DTZ011 - any day far ahead will do
    form = BackfillForm(page, landed.house.url, DAG)
    form.fill(future, future)
    form.says("No runs matching selected criteria")
    assert not form.may_run

    form = BackfillForm(page, landed.house.url, DAG)
    form.fill("2013-01-03", "2013-01-01")
    form.says("Start Date must be before the End Date")
    assert not form.may_run


def test_one_that_waits_blocks_the_next_and_a_cancelled_one_is_finished_by_another(
    page: Any, landed: Week, lake_uri: str
) -> None:
    """A paused DAG takes a backfill and waits; a second makes nothing; cancelled, its days are failed and offered again, same bytes."""
    api, days = landed.house.api, ["2013-01-02", SCHEDULED]
    api.patch(f"dags/{DAG}", {"is_paused": True})
    try:
        clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
        form.fill(days[0], days[-1])
        form.stay_paused()
        form.run()
        clicked.week.wait(lambda: clicked.states() == dict.fromkeys(days, "queued"), "queued runs")

        second = BackfillForm(page, landed.house.url, DAG)
        second.fill("2013-01-05", "2013-01-05")
        second.stay_paused()
        second.run(says="already")
        assert len(clicked.runs()) == len(days)

        page.goto(f"{landed.house.url}/dags/{DAG}")
        page.get_by_role("button", name="Cancel backfill").click()
        clicked.week.wait(lambda: set(clicked.states().values()) <= {"failed", "success"}, "no run left waiting")
    finally:
        api.patch(f"dags/{DAG}", {"is_paused": False})

    clicked, form = Clicked(landed), BackfillForm(page, landed.house.url, DAG)
    form.fill(days[0], days[-1], reprocess="failed", at_once=4)
    form.run()
    clicked.wait(dict.fromkeys(days, "success"))
    assert shards(lake_uri, NAME, SCHEDULED) == shards(lake_uri, "flights_by_schedule", SCHEDULED)
