"""The digest of incidents that have been open for a day and that nobody has taken on: one message, or none.

An incident is told when it opens; this is for what was told and then lay there. Whoever takes one on (`headrace quality acknowledge`)
is not reminded of it; what only a backfill has seen was told in its summary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headrace.quality.incidents import Incident
from headrace.quality.message import Message, runbook, short
from headrace.spec.canonical import instant_from
from headrace.spec.checks import SEVERITIES

PATIENCE: Final = timedelta(days=1)
_SHOWN: Final = 20


@dataclass(frozen=True, kw_only=True)
class Lying:
    """An open incident and whose it is."""

    dataset: str
    owner: str
    incident: Incident


def lying(open_ones: Iterable[Lying], now: datetime) -> list[Lying]:
    """Those that people are reminded of, the worst and then the oldest first."""
    found = [one for one in open_ones if _waits(one.incident, now)]
    return sorted(found, key=lambda one: (-SEVERITIES.index(one.incident.level), one.incident.opened_at, one.dataset))


def reminder(found: list[Lying], runbooks: str) -> Message | None:
    """The message about them; None when there is none."""
    if not found:
        return None
    lines = [_line(one, runbooks) for one in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"... and {len(found) - _SHOWN} more: headrace quality incidents <dataset>")
    count = "1 incident is" if len(found) == 1 else f"{len(found)} incidents are"
    return Message(
        subject=f"[{found[0].incident.level}] {count} open for more than a day, and with nobody",
        lines=(*lines, "Take one on: headrace quality acknowledge <dataset> <number> --who <name>"),
        level=found[0].incident.level,
    )


def _waits(incident: Incident, now: datetime) -> bool:
    fresh = instant_from(incident.opened_at) > now - PATIENCE
    return incident.is_open and not incident.quiet and incident.acknowledged_by is None and not fresh


def _line(one: Lying, runbooks: str) -> str:
    item = one.incident
    where = f"{item.check} {item.feature}".strip()
    return (
        f"{one.dataset} #{item.number} {where} ({item.level}) since {item.opened_at[:10]}: "
        f"{short(item.reason)} Runbook: {runbooks}/{runbook(item.check)}"
    )
