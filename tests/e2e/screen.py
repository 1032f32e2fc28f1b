"""Airflow's UI as a person uses it: log in, open the trigger form, fill in a backfill, read what it says."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
REPROCESS = {"missing": "Missing Runs", "failed": "Missing and Errored Runs", "all": "All Runs"}


def chromium() -> str | None:
    """The browser to drive, None when there is none."""
    return os.environ.get("HEADRACE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def browser(**context: Any) -> Iterator[Any]:
    """A page in a browser of its own; `context` as Playwright's `new_context`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium(), args=_QUIET)
        page = started.new_context(**{"viewport": {"width": 1400, "height": 900}, **context}).new_page()
        page.set_default_timeout(90_000)
        yield page
        started.close()


def log_in(page: Any, url: str, login: tuple[str, str]) -> None:
    """Airflow's own login page."""
    page.goto(url)
    page.locator("input[name=username]").fill(login[0])
    page.locator("input[name=password]").fill(login[1])
    page.locator("button[type=submit]").click()
    page.wait_for_url(lambda address: "/auth/login" not in address)


class BackfillForm:
    """The trigger form of one DAG, switched to *Backfill*."""

    def __init__(self, page: Any, url: str, dag: str) -> None:
        self.page = page
        page.goto(f"{url}/dags/{dag}")
        page.get_by_test_id("trigger-dag-button").click()
        self.dialog = (
            page.get_by_role("dialog")
            .filter(has_text="Trigger Dag")
            .or_(page.get_by_role("dialog").filter(has_text="Run Backfill"))
        )
        self.dialog.get_by_text("Backfill", exact=True).first.click()

    def fill(self, first: str, last: str, *, reprocess: str = "missing", backwards: bool = False) -> str:
        """Days `YYYY-MM-DD`, both included; what the form says then."""
        self._date(first)
        self._date(last)
        self.dialog.get_by_text(REPROCESS[reprocess], exact=True).click()
        if backwards:
            self.dialog.get_by_text("Run Backwards").click()
        self.page.wait_for_timeout(2500)  # the form asks the server what it would do
        return self.text

    @property
    def text(self) -> str:
        return " ".join(self.dialog.inner_text().split())

    @property
    def may_run(self) -> bool:
        return bool(self.dialog.get_by_role("button", name=re.compile("Run Backfill|Backfill")).last.is_enabled())

    def run(self) -> str:
        """Press the button; what the page says afterwards, errors among it."""
        self.dialog.get_by_role("button", name="Run Backfill").click()
        self.page.wait_for_timeout(3000)
        return " ".join(self.page.locator("body").inner_text().split())

    def _date(self, day: str) -> None:
        """Fill the first field that is still empty; each opens a picker with text fields."""
        self.dialog.get_by_text("Select date and time").first.click()
        self.page.get_by_placeholder("YYYY/MM/DD").last.fill(day.replace("-", "/"))
        clock = self.page.get_by_placeholder("HH:mm").last
        clock.fill("00:00")
        clock.press("Enter")
        self.dialog.get_by_text("Date Range").click()
        self.page.wait_for_timeout(300)
