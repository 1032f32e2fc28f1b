"""An alert route that cannot be reached is itself something wrong: opened when a message fails, closed after two that went through."""

from __future__ import annotations

from dataclasses import replace

from headrace.quality.incidents import CLEAN_RUNS, Incident, Incidents
from headrace.quality.routing import channel_check
from headrace.spec.alerts import AlertRoute

ALWAYS = "all"


def channel_failed(state: Incidents, route: AlertRoute, reason: str, *, at: str) -> Incidents:
    """Open the route's incident, or count it on."""
    found = _of(state, route)
    if found is None:
        opened = Incident(
            number=state.next_number,
            check=channel_check(route),
            feature="",
            level="critical",
            reason=reason,
            first=ALWAYS,
            last=ALWAYS,
            opened_at=at,
        )
        return replace(state, next_number=state.next_number + 1, incidents=(*state.incidents, opened))
    return _with(state, replace(found, count=found.count + 1, clean=0, reason=reason))


def channel_worked(state: Incidents, route: AlertRoute, *, at: str) -> Incidents:
    """Count a delivered message; the same state when nothing was wrong with the route."""
    found = _of(state, route)
    if found is None:
        return state
    clean = found.clean + 1
    return _with(state, replace(found, clean=clean, closed_at=at if clean >= CLEAN_RUNS else None))


def _of(state: Incidents, route: AlertRoute) -> Incident | None:
    return next((item for item in state.open if item.check == channel_check(route)), None)


def _with(state: Incidents, changed: Incident) -> Incidents:
    return replace(state, incidents=tuple(changed if item.number == changed.number else item for item in state.incidents))
