"""Headrace's pages inside Airflow's UI, clicked through: in a wide window, on a phone, in the dark, by keyboard, and without a login."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.quality.damage import looked
from headrace.quality.incident_store import change_incidents, read_incidents
from headrace.spec.canonical import instant_text

from tests.e2e.browser import browser_page, log_in
from tests.e2e.conftest import Week

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

PAGES = ("datasets", "snapshots", "quality", "runs", "sample")


@pytest.fixture
def page(week: Week) -> Iterator[Any]:
    with browser_page() as page:
        log_in(page, week.house)
        yield page


def status(week: Week, path: str, headers: dict[str, str] | None = None) -> int:
    """What the api-server answers to a stranger."""
    connection = http.client.HTTPConnection("127.0.0.1", week.house.ports.ui, timeout=30)
    connection.request("GET", path, headers=headers or {})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.parametrize("name", PAGES)
def test_nobody_sees_a_page_without_a_login(week: Week, name: str) -> None:
    """No session, a forged one, another scheme."""
    assert status(week, f"/headrace/{name}") == 401
    assert status(week, f"/headrace/{name}", {"Cookie": "_token=eyJhbGciOiJub25lIn0.e30."}) in {401, 403}
    assert status(week, f"/headrace/{name}", {"Authorization": "Bearer nonsense"}) in {401, 403}
    assert status(week, f"/headrace/{name}", {"Authorization": "Basic YWRtaW46YWRtaW4="}) == 401


def test_the_pages_are_found_in_the_navigation(page: Any, week: Week, screenshots: Path) -> None:
    """Plugins, Headrace, Datasets; from there to a day, its shards, and back out to the DAG."""
    page.goto(week.house.url)
    page.get_by_text("Plugins").click()
    page.get_by_text("Headrace").first.hover()
    page.get_by_text("Datasets", exact=True).first.click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Datasets").wait_for()
    page.screenshot(path=screenshots / "page_datasets.png")

    frame.get_by_label("2013-01-03: 914 samples in 1 shard", exact=False).first.click()
    frame.get_by_role("heading", name="flights 2013-01-03").wait_for()
    frame.get_by_text("SHA-256").wait_for()

    page.go_back()
    frame.get_by_role("link", name="flights.compact").first.click()
    page.wait_for_url("**/dags/flights.compact")
    page.get_by_test_id("trigger-dag-button").wait_for()


@pytest.mark.parametrize("name", PAGES)
def test_each_page_fits_a_phone_and_the_dark(week: Week, screenshots: Path, name: str) -> None:
    """390 pixels: nothing wider than the window but tables that scroll by themselves; nothing asked of another host."""
    with browser_page(390, 844, dark=True) as page:
        log_in(page, week.house)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{week.house.url}/headrace/{name}")
        page.screenshot(path=screenshots / f"page_{name}_phone.png", full_page=True)

        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 22, 28)"
        assert [url for url in asked if not url.startswith(f"{week.house.url}/")] == []


def test_a_page_works_by_keyboard(page: Any, week: Week) -> None:
    """Tab reaches the skip link, then each entry; Enter follows; what has the focus shows it."""
    page.goto(f"{week.house.url}/headrace/datasets")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to content"
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Runs"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url("**/headrace/runs")


def test_a_sample_is_found_by_its_id(page: Any, week: Week, screenshots: Path) -> None:
    """The example leads to the values and to the object they came from."""
    page.goto(f"{week.house.url}/headrace/sample?dataset=flights")
    page.get_by_role("link").filter(has=page.locator("code")).first.click()
    page.get_by_text("flights/2013/01/", exact=False).first.wait_for()
    page.screenshot(path=screenshots / "page_sample.png", full_page=True)

    assert page.get_by_text("tailnum").count() == 1
    page.locator("input[name=sample_id]").fill("0" * 32)
    page.get_by_role("button", name="Find").click()
    page.get_by_text("No such sample").wait_for()


@pytest.fixture
def damaged(week: Week, lake_uri: str) -> Iterator[Store]:
    """The lake, with an open incident about one day of flights; it closes afterwards."""
    lake = open_store(lake_uri)
    at = instant_text(datetime.now(UTC))
    broken = {"2013-01-02": "shard 3f2a: found 3 bytes; expected 4 bytes."}
    change_incidents(lake, "flights", "lake", lambda state: looked(state, broken=broken, right=(), at=at))
    yield lake
    change_incidents(lake, "flights", "lake", lambda state: looked(state, broken={}, right=tuple(broken), at=at))


def test_an_incident_is_taken_on_where_it_is_shown(page: Any, week: Week, damaged: Store, screenshots: Path) -> None:
    """From Datasets to the incident, a remark, and the person's name stands there; inside Airflow's frame, as people use it."""
    page.goto(f"{week.house.url}/plugin/headrace-datasets")
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="2013-01-02", exact=True).first.click()
    frame.get_by_text("With nobody yet.").wait_for()
    frame.get_by_text("Take on", exact=True).click()
    frame.get_by_label("What you found, or what you do about it").fill("Restored from the copy.")
    page.screenshot(path=screenshots / "page_incident.png")
    frame.get_by_role("button", name="Take on #").click()
    frame.get_by_text(": Restored from the copy.").wait_for()

    (one,) = read_incidents(damaged, "flights", "lake").open
    assert (one.acknowledged_by, one.remark) == (week.house.login[0], "Restored from the copy.")


def test_from_a_task_one_click_leads_to_its_report(page: Any, week: Week, screenshots: Path) -> None:
    """The tab *Report* of a task: the verdict, and from it the stored page as it is."""
    run = quote(week.runs("flight_delay.build")[0]["dag_run_id"], safe="")
    page.goto(f"{week.house.url}/dags/flight_delay.build/runs/{run}/tasks/check")
    page.get_by_role("link", name="Report").click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="In figures").wait_for()
    page.screenshot(path=screenshots / "page_report_tab.png")
    frame.get_by_role("link", name="Read the report").click()
    frame.get_by_text("Written by Headrace. The same verdict gives the same page.").wait_for()
    page.screenshot(path=screenshots / "page_verdict.png")


def test_runs_say_where_the_time_went(page: Any, week: Week, screenshots: Path) -> None:
    """Stages with percentiles, the binding constraint in one line, the time line of a run."""
    page.goto(f"{week.house.url}/headrace/runs/flights")
    for word in ("binds (", "p95", "verify", "Largest peak memory"):
        page.get_by_text(word, exact=False).first.wait_for()
    page.screenshot(path=screenshots / "page_runs.png", full_page=True)
    page.get_by_role("link", name="2013-01-03").first.click()
    page.get_by_role("heading", name="Where the time went").wait_for()
    page.screenshot(path=screenshots / "page_run.png", full_page=True)
