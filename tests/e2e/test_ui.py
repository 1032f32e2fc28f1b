"""The UI as a person sees it: a real browser logs in and finds the DAGs and their runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.browser import browser_page, log_in
from tests.e2e.conftest import Week

playwright = pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]


@pytest.fixture
def page(week: Week) -> Iterator[playwright.Page]:
    """A logged-in page at desktop width."""
    with browser_page() as page:
        log_in(page, week.house)
        yield page


def test_the_dags_are_listed(page: playwright.Page, week: Week, screenshots: Path) -> None:
    """Every DAG of the declarations, and no import error."""
    page.goto(f"{week.house.url}/dags")
    for dag in (*week.dags.roots, *week.dags.followers):
        page.get_by_role("link", name=dag, exact=True).first.wait_for()
    page.screenshot(path=screenshots / "dags.png")

    assert page.get_by_text("Import Error").count() == 0


def test_a_run_shows_its_tasks(page: playwright.Page, week: Week, screenshots: Path) -> None:
    """The runs of a day are seen under their partition key, with their tasks."""
    run = week.runs("flights.compact")[0]["dag_run_id"]
    page.goto(f"{week.house.url}/dags/flights.compact/runs/{run}")
    for task in ("plan", "write", "publish"):
        page.get_by_text(task, exact=False).first.wait_for()
    page.screenshot(path=screenshots / "run.png")

    page.get_by_text("2013-01-0").first.wait_for()
