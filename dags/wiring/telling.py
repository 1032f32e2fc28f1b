"""Tell people what is due, once, over the routes that exist: one run at a time over each, a dead one told over the others.

Whatever goes wrong here is logged and becomes an incident of its own; the run goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import get_current_context
from airflow.sdk.configuration import conf
from headrace.spec.alerts import AlertRoute
from headrace.spec.canonical import instant_text

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.pages.links import Links
    from headrace.quality.incident_store import Stream
    from headrace.quality.incidents import Incidents
    from headrace.quality.message import Message, Place
    from headrace.quality.routing import Owners

log = logging.getLogger("headrace")

_CLAIM: Final = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Whose incidents are kept where, and over which routes they are told."""

    dataset: str
    owners: Owners
    routes: tuple[AlertRoute, ...]
    stream: Stream
    lake: Store


def tell_due(desk: Desk, state: Incidents, headline: str, place: Place) -> None:
    """Tell what is due over every route once; then once more what a dead route has just added, over the living ones."""
    from headrace.quality.incident_store import read_incidents
    from headrace.quality.routing import due

    if not due(state, desk.routes, desk.owners):
        return
    living = connected(desk.routes, desk.owners.all)
    for _ in range(2):
        dead = [one.route for one in due(state, living, desk.owners) if not _tell_over(desk, one.route, headline, place)]
        if not dead:
            return
        living = [route for route in living if route not in dead]
        state = read_incidents(desk.lake, desk.dataset, desk.stream)


def _tell_over(desk: Desk, route: AlertRoute, headline: str, place: Place) -> bool:
    """Tell what is due over a route, alone: parallel runs wait for each other, and the later one finds nothing left to tell."""
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.incidents import told
    from headrace.quality.message import alert
    from headrace.quality.routing import due

    state = _claimed(desk, route)
    if state is None:
        log.warning("Another run has been telling over %s all the time; what is left is told by the next run.", route.name)
        return True
    said = due(state, [route], desk.owners)
    alive = all(deliver(desk, route, alert(one, headline, place)) for one in said)
    stages = said[0].stages if said and alive else {}
    change_incidents(desk.lake, desk.dataset, desk.stream, partial(told, route=route.name, stages=stages))
    return alive


def _claimed(desk: Desk, route: AlertRoute) -> Incidents | None:
    """The state from which this run alone tells over a route; None when another run kept it beyond patience."""
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.incidents import claim

    run, began = str(get_current_context()["dag_run"].run_id), time.monotonic()
    while time.monotonic() - began < 2 * _CLAIM.total_seconds():
        now = datetime.now(UTC)
        step = partial(claim, route=route.name, run=run, now=instant_text(now), until=instant_text(now + _CLAIM))
        state = change_incidents(desk.lake, desk.dataset, desk.stream, step)
        if state.claims[route.name].run == run:
            return state
        time.sleep(1)
    return None


def connected(routes: Sequence[AlertRoute], owners: Iterable[str]) -> list[AlertRoute]:
    """The owners' routes whose connections exist; those without are named in the log."""
    from headrace.quality.routing import takes
    from headrace_alerts import is_connected

    mine = [route for route in routes if takes(route, owners)]
    there = [route for route in mine if is_connected(route)]
    off = [f"{route.name} (connection {route.connection})" for route in mine if route not in there]
    if off:
        log.info("No alerts over %s: the connection does not exist.", ", ".join(off))
    return there


def deliver(desk: Desk, route: AlertRoute, message: Message) -> bool:
    """Send a message; a route that fails is logged and becomes an incident, one that works again closes it in time."""
    from headrace.quality.channels import channel_failed, channel_worked
    from headrace.quality.incident_store import change_incidents
    from headrace_alerts import ChannelDead, send

    at = instant_text(datetime.now(UTC))
    try:
        send(route, message)
    except ChannelDead as error:
        log.exception("An alert did not get through; the run goes on. What it said:\n%s", message.text)
        change_incidents(desk.lake, desk.dataset, desk.stream, partial(channel_failed, route=route, reason=str(error), at=at))
        return False
    log.info("Told over %s: %s", route.name, message.subject)
    change_incidents(desk.lake, desk.dataset, desk.stream, partial(channel_worked, route=route, at=at))
    return True


def run_page() -> str:
    """The current run's address in the UI."""
    run: Any = get_current_context()["dag_run"]
    return ui_links().airflow_run(run.dag_id, run.run_id)


def again(partition: str) -> str:
    """The command that runs the current DAG's partition again."""
    return f"airflow dags clear {get_current_context()['dag_run'].dag_id} --partition-key {partition} --yes"


def ui_links() -> Links:
    """Addresses in the UI."""
    from headrace.pages.links import Links

    base = conf.get("api", "base_url", fallback="http://localhost:8080").rstrip("/")
    return Links(root=f"{base}/headrace", airflow=base)
