"""The trigger form as a person meets it: it explains what it asks for, and what is wrong is refused, by the form, the server or the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.browser import browser_page, log_in
from tests.e2e.conftest import Week
from tests.e2e.screen import TriggerForm

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

DAG = "flights_by_click.compact"


@pytest.fixture
def page(week: Week) -> Iterator[Any]:
    with browser_page(1400, 1300) as page:
        log_in(page, week.house)
        yield page


def by_hand(week: Week, dag: str = DAG) -> dict[str, dict[str, Any]]:
    return {run["dag_run_id"]: run for run in week.runs(dag) if run["run_type"] == "manual"}


def test_a_key_that_is_no_day_makes_no_run(page: Any, week: Week, screenshots: Path) -> None:
    """The form says where the day goes and what it looks like; the server refuses another text."""
    before = by_hand(week)
    form = TriggerForm(page, week.house.url, DAG)

    form.says("Which day? Open Advanced Options and give the day as Partition Key, such as 2013-01-01")
    page.screenshot(path=screenshots / "trigger.png")
    form.advanced()
    form.key("yesterday")
    form.run(says="400 Bad Request")
    assert by_hand(week) == before


def test_a_parameter_nobody_declared_fails_the_run_and_one_click_says_why(page: Any, week: Week, screenshots: Path) -> None:
    """Airflow lets any JSON through; the first task refuses it, once, and the task's tab *Report* names it."""
    before = by_hand(week)
    form = TriggerForm(page, week.house.url, DAG)
    form.advanced()
    form.key("2013-01-04")
    form.conf('{"overwrite": true}')
    form.run()

    def made() -> list[dict[str, Any]]:
        return [run for name, run in by_hand(week).items() if name not in before]

    week.wait(lambda: [run["state"] for run in made()] == ["failed"], "one failed run")
    run = made()[0]
    assert (run["partition_key"], run["conf"]) == ("2013-01-04", {"overwrite": True})
    page.goto(f"{week.house.url}/dags/{DAG}/runs/{quote(run['dag_run_id'], safe='')}/tasks/plan")
    page.get_by_role("link", name="Report").click()
    frame = page.frame_locator("iframe")
    frame.get_by_text("found parameters overwrite; expected only parameters this DAG has: why", exact=False).first.wait_for()
    page.screenshot(path=screenshots / "page_failed_task.png")


def test_an_approval_needs_a_day_and_a_reason(page: Any, week: Week) -> None:
    """The button stays grey until both are there; a reason too short to be one is refused with what is expected."""
    form = TriggerForm(page, week.house.url, "flight_delay.approve")
    form.says("Why this data may be used although it failed.")
    assert not form.may_run

    form.parameter("day", "2013-01-02")
    assert not form.may_run
    form.parameter("why", "fine")
    form.run(says="Invalid input for param why: 'fine' is too short")
    assert by_hand(week, "flight_delay.approve") == {}
