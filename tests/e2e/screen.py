"""Airflow's trigger form as a person uses it: open it, fill in a backfill, read what it says."""

from __future__ import annotations

import re
from typing import Any

REPROCESS = {"missing": "Missing Runs", "failed": "Missing and Errored Runs", "all": "All Runs"}


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
