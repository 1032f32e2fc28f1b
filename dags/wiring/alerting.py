"""From a verdict to people: record it among the incidents, then tell what is due.

This never changes the outcome of a run. A run of a backfill tells nobody by itself; `wiring.summary` sends one message for all of it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import DownstreamTasksSkipped
from headrace.settings import runbooks
from headrace.spec.alerts import AlertRoute
from headrace.spec.canonical import instant_text
from wiring.telling import Desk, again, connected, tell_due, ui_links

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.quality.gate import Checked
    from headrace.quality.incidents import Incidents
    from headrace.quality.message import Place
    from headrace.quality.monitor import Watched
    from headrace.quality.routing import Owners
    from headrace.quality.verdict import Verdict
    from headrace.spec.training_set import TrainingSet

log = logging.getLogger("headrace")

_BACKFILL: Final = "backfill__"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A verdict, the partition and the digest of what was judged, and where the report lies."""

    verdict: Verdict
    partition: str
    subject: str
    report: str


def done(result: dict[str, Any], *, skip: list[str]) -> dict[str, Any]:
    """End the current task well with this result, skipping these tasks after it."""
    if skip:
        get_current_context()["ti"].xcom_push(key="return_value", value=result)
        raise DownstreamTasksSkipped(tasks=skip)  # type: ignore[no-untyped-call] # Airflow leaves it untyped
    return result


def tell_gate(
    training_set: TrainingSet, found: Checked, partition: str, candidate: str, routes: Sequence[AlertRoute], *, lake: Store
) -> bool:
    """Tell what the gate said of a candidate. True when a summary has to follow."""
    if found.verdict is None:
        return False
    desk = Desk(dataset=training_set.name, owners=_owners(training_set), routes=tuple(routes), stream="gate", lake=lake)
    return _tell(desk, Judged(verdict=found.verdict, partition=partition, subject=candidate, report=found.report))


def tell_monitor(training_set: TrainingSet, found: Watched, partition: str, routes: Sequence[AlertRoute], *, lake: Store) -> None:
    """Tell what the monitor said of a day of live data; a backfill's days are only kept."""
    desk = Desk(dataset=training_set.name, owners=_owners(training_set), routes=tuple(routes), stream="monitor", lake=lake)
    _tell(desk, Judged(verdict=found.verdict, partition=partition, subject=found.subject, report=found.report))


def taken_on(dataset: str, checks: Sequence[str], who: str, why: str, *, lake: Store) -> None:
    """Acknowledge the open incidents of checks that a person approved a candidate in spite of."""
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.incidents import acknowledge

    at = instant_text(datetime.now(UTC))

    def step(state: Incidents) -> Incidents:
        for item in state.open:
            if item.check in checks and item.acknowledged_by is None:
                state = acknowledge(state, item.number, who=who, at=at, remark=why)
        return state

    change_incidents(lake, dataset, "gate", step)


def _owners(training_set: TrainingSet) -> Owners:
    from headrace.quality.routing import owners_of

    return owners_of(training_set)


def _is_quiet() -> bool:
    """Whether the current run is a backfill's, or was triggered by what a backfill published."""
    run: Any = get_current_context()["dag_run"]
    sources = [event.source_run_id for event in run.consumed_asset_events]
    return any(str(name or "").startswith(_BACKFILL) for name in (run.run_id, *sources))


def _tell(desk: Desk, judged: Judged) -> bool:
    """Record a verdict and tell what is due. True when a summary has to follow instead.

    An incidents document that cannot be read is left as it is, and logged: the verdict stands, and the run goes on.
    """
    from headrace.manifests.errors import DocumentRefused

    try:
        return _recorded(desk, judged)
    except DocumentRefused:
        log.exception("Nobody was told of this verdict: %s", judged.verdict.headline)
        return False


def _recorded(desk: Desk, judged: Judged) -> bool:
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.incidents import observe, summarised
    from headrace.quality.judgement import Judgement, findings_of

    found, unknown = findings_of(judged.verdict)
    judgement = Judgement(
        partition=judged.partition,
        subject=judged.subject,
        headline=judged.verdict.headline,
        report=_report(desk, judged),
        run=get_current_context()["dag_run"].run_id,
        at=instant_text(datetime.now(UTC)),
        findings=found,
        unknown=unknown,
        quiet=_is_quiet(),
    )
    state = change_incidents(desk.lake, desk.dataset, desk.stream, partial(observe, judgement=judgement))
    if not judgement.quiet:
        tell_due(desk, state, judged.verdict.headline, _place(desk, judged))
        return False
    mine = [item for item in state.backlog if item.run == judgement.run]
    if mine and desk.stream == "gate" and connected(desk.routes, [desk.owners.dataset]):
        return True
    if mine:  # nobody to tell, or a monitor's backfill, which is looked at by who asked for it
        change_incidents(desk.lake, desk.dataset, desk.stream, partial(summarised, sent=mine))
    return False


def _place(desk: Desk, judged: Judged) -> Place:
    from headrace.quality.message import Place

    run: Any = get_current_context()["dag_run"]
    links, held = ui_links(), desk.stream == "gate" and not judged.verdict.passes
    return Place(
        name=f"{desk.dataset}{' live' if desk.stream == 'monitor' else ''} {judged.partition}",
        run=links.airflow_run(run.dag_id, run.run_id),
        report=_report(desk, judged),
        again=again(judged.partition),
        approve=links.airflow_dag(f"{desk.dataset}.approve") if held else None,
        held=held,
        bad=len(judged.verdict.at_least("info")) > 0,
        runbooks=runbooks(),
    )


def _report(desk: Desk, judged: Judged) -> str:
    """The verdict's page in the UI."""
    page = ui_links().report if desk.stream == "gate" else ui_links().live_report
    return page(desk.dataset, judged.partition, judged.subject)
