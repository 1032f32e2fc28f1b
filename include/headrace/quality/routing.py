"""Who is still to be told what: from the incidents' state to the messages due, by route.

Nothing is remembered but what was told, so a message that could not be delivered is due again at the next run, and one that was is
never repeated. Severity means at least. Who was told that something is wrong is also told that it changed and that it is over,
whatever its severity then.

What one run found is one message to each: one cause has many symptoms, and who gets twelve messages reads none. But nobody gets
another's: what is wrong with a feature goes to the training set's owner and to the owner of the view that computes it, everything
else to the training set's owner alone, each over the routes that are theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headrace.quality.incidents import CHANNEL, Incident, Incidents, Quiet
from headrace.spec.alerts import AlertRoute
from headrace.spec.checks import SEVERITIES, Severity
from headrace.spec.training_set import TrainingSet

Change = Literal["opened", "changed", "closed"]


@dataclass(frozen=True, kw_only=True)
class News:
    """One incident's change that a route has not been told of."""

    incident: Incident
    change: Change


@dataclass(frozen=True, kw_only=True)
class Owners:
    """Whose a training set is, and whose are those of its features that somebody else computes."""

    dataset: str
    features: Mapping[str, str] = field(default_factory=dict)

    @property
    def all(self) -> frozenset[str]:
        return frozenset([self.dataset, *self.features.values()])

    def of(self, feature: str) -> frozenset[str]:
        """Who is to know of an incident of that feature (or of none, by an empty name)."""
        return frozenset([self.dataset, self.features.get(feature, self.dataset)])


@dataclass(frozen=True, kw_only=True)
class Due:
    """What one message over a route has to say: all its news, worst first; `partial` when others are told of more."""

    route: AlertRoute
    news: tuple[News, ...]
    partial: bool = False

    @property
    def stages(self) -> dict[int, str]:
        """By incident number what will have been told."""
        return {item.incident.number: item.incident.stage for item in self.news}


def owners_of(training_set: TrainingSet) -> Owners:
    """The owners of a training set and of its views' features."""
    return Owners(
        dataset=training_set.owner, features={name: view.owner for view in training_set.views for name in view.features}
    )


def takes(route: AlertRoute, owners: Iterable[str]) -> bool:
    """Whether the route is one of theirs."""
    return any(route.takes(owner) for owner in owners)


def due(state: Incidents, routes: Sequence[AlertRoute], owners: Owners) -> list[Due]:
    """One entry per route with news, in the routes' order."""
    found = []
    for route in routes:
        news = [item for incident in state.incidents if (item := _news(incident, route)) is not None]
        mine = [item for item in news if takes(route, owners.of(item.incident.feature))]
        if mine:
            found.append(Due(route=route, news=tuple(sorted(mine, key=_rank)), partial=len(mine) < len(news)))
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
