"""What is wrong, from the first run that saw it to the second clean one: one incident per dataset, check and feature.

A pure step from the state before and one judgement to the state after. Judging the same candidate again with the same outcome changes
nothing, so retries and cleared runs are silent. Runs come in any order, so a clean run only counts when its day is not before the
last bad one: a backfill of good old days closes nothing. A run of a backfill is *quiet*: what it finds is kept, and told in one
summary instead of message by message.

The state is bounded: incidents that closed long ago and judgements of many runs ago are forgotten, the verdicts themselves are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from headrace.quality.judgement import Finding, Judgement, digest_of_mark
from headrace.spec.checks import SEVERITIES, Severity

CLEAN_RUNS: Final = 2
CHANNEL: Final = "alert_route."
"""Checks that are about a way to people, not about data: data closes none of them."""
_KEPT_CLOSED: Final = 200
_KEPT_JUDGED: Final = 400


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Something wrong.

    Attributes:
        number: counts up within the dataset; what a person names it by.
        first, last: the partitions that showed it first and last; `last` is the greatest.
        count: judgements that found it; `clean`: judgements since, of days not before `last`, that did not.
        quiet: only backfills have seen it; nobody is told of it by itself.
        told: by route, the stage people were told last: a severity, or `closed`.
        acknowledged_by, acknowledged_at, remark: who took it on.
    """

    number: int
    check: str
    feature: str
    level: Severity
    reason: str
    first: str
    last: str
    opened_at: str
    count: int = 1
    clean: int = 0
    quiet: bool = False
    closed_at: str | None = None
    told: Mapping[str, str] = field(default_factory=dict)
    acknowledged_by: str | None = None
    acknowledged_at: str | None = None
    remark: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.check, self.feature

    @property
    def is_open(self) -> bool:
        return self.closed_at is None

    @property
    def stage(self) -> str:
        """Its severity while it is open, then `closed`."""
        return self.level if self.is_open else "closed"


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """One bad day of a backfill, waiting for the summary."""

    partition: str
    headline: str
    report: str
    run: str
    at: str
    level: Severity


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A run that is telling people over a route now, until an instant (as text) at the latest: it may be killed meanwhile."""

    run: str
    until: str


@dataclass(frozen=True, kw_only=True)
class Incidents:
    """The state of one dataset's gate or monitor.

    Attributes:
        judged: by partition its last judgement's mark, oldest first.
        backlog: bad days of a backfill, in the order they came.
        claims: by route who is telling now, so that parallel runs do not tell the same twice.
    """

    next_number: int = 1
    incidents: tuple[Incident, ...] = ()
    judged: Mapping[str, str] = field(default_factory=dict)
    backlog: tuple[Quiet, ...] = ()
    claims: Mapping[str, Claim] = field(default_factory=dict)

    @property
    def open(self) -> tuple[Incident, ...]:
        return tuple(item for item in self.incidents if item.is_open)


def observe(state: Incidents, judgement: Judgement) -> Incidents:
    """The state after one judgement; the same object when nothing changed."""
    before = state.judged.get(judgement.partition)
    if before is None and not judgement.findings and not state.open:
        return state
    if before is not None and digest_of_mark(before) == judgement.digest:
        return _known(state, judgement, before)
    bad = {(item.check, item.feature): item for item in judgement.findings}
    after = tuple(_seen(item, bad.pop(item.key, None), judgement) if item.is_open else item for item in state.incidents)
    fresh = [_opened(item, judgement, state.next_number + n) for n, item in enumerate(bad.values())]
    return replace(
        state,
        next_number=state.next_number + len(fresh),
        incidents=_bounded((*after, *fresh)),
        judged=_remembered(state.judged, judgement),
        backlog=(*state.backlog, _quiet(judgement)) if judgement.quiet and judgement.findings else state.backlog,
    )


def _known(state: Incidents, judgement: Judgement, before: str) -> Incidents:
    """Nothing new, so nothing changes; but another backfill that finds the same is to say so in its own summary."""
    if not judgement.quiet or not judgement.findings or before == judgement.mark:
        return state
    return replace(state, judged=_remembered(state.judged, judgement), backlog=(*state.backlog, _quiet(judgement)))


def acknowledge(state: Incidents, number: int, *, who: str, at: str, remark: str | None = None) -> Incidents:
    """Say who takes an open incident on. Raises KeyError when no open incident has that number."""
    if number not in {item.number for item in state.open}:
        raise KeyError(number)
    return replace(
        state,
        incidents=tuple(
            replace(item, acknowledged_by=who, acknowledged_at=at, remark=remark) if item.number == number else item
            for item in state.incidents
        ),
    )


def claim(state: Incidents, route: str, *, run: str, now: str, until: str) -> Incidents:
    """Take a route for telling; the same state while another run has it."""
    held = state.claims.get(route)
    if held is not None and held.run != run and held.until > now:
        return state
    return replace(state, claims={**state.claims, route: Claim(run=run, until=until)})


def told(state: Incidents, route: str, stages: Mapping[int, str]) -> Incidents:
    """Remember what people were told over a route (by incident number, the stage) and give the route back."""
    return replace(
        state,
        claims={name: claim for name, claim in state.claims.items() if name != route},
        incidents=tuple(
            replace(item, told={**item.told, route: stages[item.number]}) if item.number in stages else item
            for item in state.incidents
        ),
    )


def summarised(state: Incidents, sent: Iterable[Quiet]) -> Incidents:
    """Take what a summary told out of the backlog."""
    gone = set(sent)
    return replace(state, backlog=tuple(item for item in state.backlog if item not in gone))


def _seen(item: Incident, finding: Finding | None, judgement: Judgement) -> Incident:
    late = judgement.partition < item.last
    if finding is None:
        if late or item.check in judgement.unknown or item.check.startswith(CHANNEL):
            return item
        clean = item.clean + 1
        return replace(item, clean=clean, closed_at=judgement.at if clean >= CLEAN_RUNS else None)
    item = replace(item, count=item.count + 1, clean=item.clean if late else 0, last=max(item.last, judgement.partition))
    if judgement.quiet and not item.quiet:
        return item  # what people were told of stays as they were told; the summary has the rest
    return replace(
        item,
        level=_worse(item.level, finding.level) if late else finding.level,
        reason=item.reason if late else finding.reason,
        first=min(item.first, judgement.partition),
        quiet=item.quiet and judgement.quiet,
    )


def _opened(finding: Finding, judgement: Judgement, number: int) -> Incident:
    return Incident(
        number=number,
        check=finding.check,
        feature=finding.feature,
        level=finding.level,
        reason=finding.reason,
        first=judgement.partition,
        last=judgement.partition,
        opened_at=judgement.at,
        quiet=judgement.quiet,
    )


def _quiet(judgement: Judgement) -> Quiet:
    return Quiet(
        partition=judgement.partition,
        headline=judgement.headline,
        report=judgement.report,
        run=judgement.run,
        at=judgement.at,
        level=max((item.level for item in judgement.findings), key=SEVERITIES.index),
    )


def _remembered(judged: Mapping[str, str], judgement: Judgement) -> dict[str, str]:
    kept = {partition: digest for partition, digest in judged.items() if partition != judgement.partition}
    return dict(list({**kept, judgement.partition: judgement.mark}.items())[-_KEPT_JUDGED:])


def _worse(first: Severity, second: Severity) -> Severity:
    return max(first, second, key=SEVERITIES.index)


def _bounded(incidents: tuple[Incident, ...]) -> tuple[Incident, ...]:
    """All open ones and the newest closed ones, by number."""
    closed = [item.number for item in incidents if not item.is_open][:-_KEPT_CLOSED]
    return tuple(item for item in incidents if item.number not in set(closed))
