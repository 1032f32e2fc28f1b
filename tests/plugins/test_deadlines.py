"""Who is told that a day is late, and what."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.dags.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "plugins"))

import headrace_deadlines
from headrace_deadlines import is_told, late_message, tell_late

RUN = {
    "dag_id": "flights.compact",
    "run_id": "scheduled__1",
    "partition_key": "2013-01-03",
    "run_type": "scheduled",
    "state": "running",
    "run_after": "2013-01-04T05:00:00Z",
    "queued_at": "2013-01-04T05:00:01.5Z",
}
DEADLINE = {"id": 1, "deadline_time": "2013-01-04T11:00:00Z"}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Subjects of what went out; nothing of 2013-01-03 is published."""
    sent: list[str] = []
    monkeypatch.setattr(headrace_deadlines, "_tell", lambda message, owner: sent.append(message.subject))
    monkeypatch.setattr(headrace_deadlines, "is_published", lambda dataset, day: day != "2013-01-03")
    return sent


@pytest.mark.parametrize(
    ("kind", "expected"), [("scheduled", True), ("backfill", False), ("manual", False), ("asset_triggered", False)]
)
def test_only_the_schedules_run_is_told(kind: str, expected: bool, told: list[str]) -> None:
    """Airflow raises the deadline of every old day of a backfill at once."""
    run: dict[str, Any] = {**RUN, "run_type": kind}
    tell_late({"dag_run": run, "deadline": DEADLINE}, "flights", "flight-data")

    assert is_told(run) is expected
    assert (len(told) == 1) is expected


@pytest.mark.parametrize(
    ("queued", "expected"),
    [
        ("2013-01-04T05:00:01Z", True),
        ("2013-01-05T11:00:00Z", True),  # the scheduler stood still for a day
        ("2013-01-07T04:59:59Z", True),
        ("2013-01-07T05:00:00Z", False),
        ("2026-02-01T00:00:00Z", False),
        (None, True),
    ],
)
def test_a_scheduled_run_that_catches_up_is_not_told(queued: str | None, expected: bool, told: list[str]) -> None:
    """It was to begin at midnight, five in UTC: three days after that its day is an old one."""
    tell_late({"dag_run": {**RUN, "queued_at": queued}, "deadline": DEADLINE}, "flights", "flight-data")

    assert (len(told) == 1) is expected


def test_a_day_that_is_there_is_not_late(told: list[str]) -> None:
    """A run may fail in its last step and the day be in use."""
    tell_late(
        {"dag_run": {**RUN, "partition_key": "2013-01-02", "state": "failed"}, "deadline": DEADLINE}, "flights", "flight-data"
    )

    assert told == []


def test_the_message_says_what_is_late_and_what_to_do() -> None:
    """Day, deadline, state, the command, the runbook."""
    text = late_message("flights", "flight-data", RUN, DEADLINE).text

    assert text.splitlines()[0] == "[warning] flights 2013-01-03: late, nothing published by 2013-01-04T11:00:00Z"
    assert "The run is running." in text
    assert "airflow dags clear flights.compact --partition-key 2013-01-03 --yes" in text
    assert "late.md" in text
