"""Airflow's trigger form as a person uses it: open it, fill in a backfill, read what it says."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

REPROCESS = {"missing": "Missing Runs", "failed": "Missing and Errored Runs", "all": "All Runs"}


_PATIENCE_SECONDS = 60.0


def wait_for_words(place: Any, part: str) -> None:
    """Wait until these words stand there, however the lines break; fail with what stands there instead."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while part not in (found := " ".join(place.inner_text().split())):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {_PATIENCE_SECONDS:.0f} s: {part!r}, but {found!r}")
        place.page.wait_for_timeout(200)


def press(page: Any, button: Any, address: str) -> None:
    """Press a button and wait until the server has answered to what it sends to the address."""
    with page.expect_response(lambda answer: answer.request.method == "POST" and answer.url.partition("?")[0].endswith(address)):
        button.click()


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

    def fill(
        self, first: str, last: str, *, reprocess: str = "missing", backwards: bool = False, at_once: int | None = None
    ) -> None:
        """Days `YYYY-MM-DD`, both included. `at_once`: None leaves what the form offers."""
        self._date(first)
        self._date(last)
        self.dialog.get_by_text(REPROCESS[reprocess], exact=True).click()
        if at_once is not None:
            self.dialog.locator("input[type=number], input[role=spinbutton]").first.fill(str(at_once))
        if backwards:
            self.dialog.get_by_text("Run Backwards").click()
        self.page.wait_for_timeout(1500)  # the form asks the server what it would do

    def says(self, part: str) -> None:
        """Wait until the form says these words."""
        wait_for_words(self.dialog, part)

    def stay_paused(self) -> None:
        """A paused DAG is unpaused by the form unless told otherwise."""
        self.dialog.get_by_text(re.compile("Unpause .* on trigger")).click()

    @property
    def may_run(self) -> bool:
        return bool(self.dialog.get_by_role("button", name=re.compile("Run Backfill|Backfill")).last.is_enabled())

    def run(self, says: str = "") -> None:
        """Press the button; wait for the server's answer and until the page says these words, errors among them."""
        press(self.page, self.dialog.get_by_role("button", name="Run Backfill"), "/api/v2/backfills")
        wait_for_words(self.page.locator("body"), says)

    def _date(self, day: str) -> None:
        """Fill the first field that is still empty; each opens a picker with text fields."""
        empty = self.dialog.get_by_text("Select date and time")
        empty.first.wait_for()
        last = empty.nth(empty.count() - 1)
        empty.first.click()
        self.page.get_by_placeholder("YYYY/MM/DD").last.fill(day.replace("-", "/"))
        clock = self.page.get_by_placeholder("HH:mm").last
        clock.fill("00:00")
        clock.press("Enter")
        self.dialog.get_by_text("Date Range").click()
        last.wait_for(state="detached")


class TriggerForm:
    """The trigger form of one DAG for a single run, with *Advanced Options* open."""

    def __init__(self, page: Any, url: str, dag: str) -> None:
        self.page = page
        page.goto(f"{url}/dags/{dag}")
        page.get_by_test_id("trigger-dag-button").click()
        self.dialog = page.get_by_role("dialog").filter(has_text="Single Run")
        self.dialog.wait_for()

    def parameter(self, name: str, value: str) -> None:
        """Fill in a declared parameter."""
        field = self.dialog.locator(f"input[name=element_{name}]")
        field.fill(value)
        field.blur()

    def advanced(self) -> None:
        """Open the part of the form where the key is. It closes the parameters."""
        self.dialog.get_by_role("button", name="Advanced Options").click()

    def key(self, day: str) -> None:
        self.dialog.locator("input[name=partitionKey]").fill(day)

    def conf(self, text: str) -> None:
        """Replace the JSON that the run is given."""
        self.dialog.locator(".monaco-editor, .cm-editor").first.click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Control+Shift+End")  # the editor closes brackets by itself, behind ours
        self.page.keyboard.press("Delete")

    def says(self, part: str) -> None:
        """Wait until the form says these words."""
        wait_for_words(self.dialog, part)

    @property
    def may_run(self) -> bool:
        return bool(self.dialog.get_by_role("button", name="Trigger", exact=True).is_enabled())

    def run(self, says: str = "") -> None:
        """Press the button; wait for the server's answer and until the page says these words."""
        press(self.page, self.dialog.get_by_role("button", name="Trigger", exact=True), "/dagRuns")
        wait_for_words(self.page.locator("body"), says)
