"""Who is still to be told what: from the incidents' state to the messages due, by route.

Nothing is remembered but what was told, so a message that could not be delivered is due again at the next run, and one that was is
never repeated. Severity means at least. Who was told that something is wrong is also told that it changed and that it is over,
whatever its severity then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.quality.incidents import CHANNEL, Incident, Incidents, Quiet
from headrace.spec.alerts import AlertRoute
from headrace.spec.checks import SEVERITIES, Severity

Change = Literal["opened", "changed", "closed"]


@dataclass(frozen=True, kw_only=True)
class News:
    """One incident's change that a route has not been told of."""

    incident: Incident
    change: Change


@dataclass(frozen=True, kw_only=True)
class Due:
    """What one message over a route has to say: all its news, worst first."""

    route: AlertRoute
    news: tuple[News, ...]

    @property
    def stages(self) -> dict[int, str]:
        """By incident number what will have been told."""
        return {item.incident.number: item.incident.stage for item in self.news}


def due(state: Incidents, routes: Sequence[AlertRoute], owner: str) -> list[Due]:
    """One entry per route with news, in the routes' order."""
    found = []
    for route in routes:
        news = (
            [item for incident in state.incidents if (item := _news(incident, route)) is not None] if route.takes(owner) else []
        )
        if news:
            found.append(Due(route=route, news=tuple(sorted(news, key=_rank))))
    return found


def worth_telling(route: AlertRoute, level: Severity) -> bool:
    """At least the route's severity."""
    return SEVERITIES.index(level) >= SEVERITIES.index(route.at_least)


def due_summary(state: Incidents, route: AlertRoute, owner: str) -> tuple[Quiet, ...]:
    """The backfill's bad days this route is to be told of, by day."""
    if not route.takes(owner):
        return ()
    return tuple(sorted((item for item in state.backlog if worth_telling(route, item.level)), key=lambda item: item.partition))


def _news(incident: Incident, route: AlertRoute) -> News | None:
    before = incident.told.get(route.name)
    if incident.quiet or before == incident.stage or incident.check == channel_check(route):
        return None
    if not incident.is_open:
        return None if before is None else News(incident=incident, change="closed")
    if before is None or before == "closed":
        return News(incident=incident, change="opened") if worth_telling(route, incident.level) else None
    return News(incident=incident, change="changed")


def channel_check(route: AlertRoute) -> str:
    """The check under which a route that cannot be reached is itself an incident; it is not told over itself."""
    return f"{CHANNEL}{route.name}"


def _rank(item: News) -> tuple[bool, int, int]:
    return item.change == "closed", -SEVERITIES.index(item.incident.level), item.incident.number
