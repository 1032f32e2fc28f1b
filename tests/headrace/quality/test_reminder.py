"""The digest: what lies there for a day with nobody, the worst first, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from headrace.quality.incidents import Incident
from headrace.quality.reminder import Lying, lying, reminder

NOW = datetime(2026, 2, 10, 3, tzinfo=UTC)


def one(dataset: str = "flights", number: int = 1, opened: str = "2026-02-08T03:00:00.000000Z", **more: Any) -> Lying:
    fields: dict[str, Any] = {"check": "damaged", "feature": "2013-01-01", "level": "critical", "reason": "Cut short."} | more
    incident = Incident(number=number, first="2013-01-01", last="2013-01-01", opened_at=opened, **fields)
    return Lying(dataset=dataset, owner="team", incident=incident)


@pytest.mark.parametrize(
    "other",
    [
        {"opened": "2026-02-09T03:00:01.000000Z"},
        {"acknowledged_by": "ada"},
        {"quiet": True},
        {"closed_at": "2026-02-09T00:00:00.000000Z"},
    ],
)
def test_nobody_is_reminded_of(other: dict[str, Any]) -> None:
    """Fresh, taken on, seen by backfills only, or closed."""
    assert lying([one(**other)], NOW) == []
    assert lying([one()], NOW) == [one()]


def test_the_worst_comes_first_then_the_oldest() -> None:
    """By severity, then by when it opened."""
    late, early = one("a", 1), one("b", 2, opened="2026-02-01T03:00:00.000000Z")
    mild = one("c", 3, opened="2026-01-01T03:00:00.000000Z", level="warning")

    assert [item.dataset for item in lying([mild, late, early], NOW)] == ["b", "a", "c"]


def test_the_message_names_each_and_says_how_to_take_it_on() -> None:
    """One line an incident, bounded in number."""
    message = reminder([one()], "docs/runbooks")
    assert message is not None
    assert message.text.splitlines() == [
        "[critical] 1 incident is open for more than a day, and with nobody",
        "flights #1 damaged 2013-01-01 (critical) since 2026-02-08: Cut short. Runbook: docs/runbooks/damaged.md",
        "Take one on: headrace quality acknowledge <dataset> <number> --who <name>",
    ]
    many = reminder([one(number=n) for n in range(25)], "r")
    assert many is not None
    assert len(many.lines) == 22
    assert many.lines[20] == "... and 5 more: headrace quality incidents <dataset>"
    assert reminder([], "r") is None
