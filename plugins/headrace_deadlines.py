"""What is done when a deadline passes: people are told once, over the routes of the owner, if it was the schedule's run.

Lives here because the callback is imported by name where tasks run, and DAG files are not. Airflow fires one deadline once, so nobody is
told twice; it fires for backfills, for runs that catch up on old days and for runs that failed before, and all are told apart here.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.quality.message import Message

log = logging.getLogger("headrace")


def tell_late(context: dict[str, Any], dataset: str, owner: str) -> None:
    """Airflow's callback. `context` holds the run as the REST API shows it, and the deadline."""
    run = context["dag_run"]
    if not is_told(run):
        log.info("%s %s passed its deadline in a %s run, queued %s: nobody is told.", dataset, *_named(run))
        return
    if is_published(dataset, run["partition_key"]):
        log.info("%s %s is published: nobody is told.", dataset, run["partition_key"])
        return
    message = late_message(dataset, owner, run, context["deadline"])
    log.error("%s", message.text)
    _tell(message, owner)


def is_told(run: dict[str, Any]) -> bool:
    """Only what the schedule started, about when it was to: the day of a backfill, or of a catch-up, is old when it begins."""
    from headrace.runs.freshness import is_catch_up

    if str(run["run_type"]) != "scheduled":
        return False
    ticked, queued = run["run_after"], run["queued_at"]
    return queued is None or not is_catch_up(datetime.fromisoformat(ticked), datetime.fromisoformat(queued))


def _named(run: dict[str, Any]) -> tuple[str, str, str]:
    return run["partition_key"], run["run_type"], run["queued_at"]


def is_published(dataset: str, day: str) -> bool:
    """Whether the day is in use: a run may fail in its last step and the day still be there."""
    from headrace.manifests.read import latest
    from headrace.settings import lake_uri
    from headrace_stores import open_store

    found = latest(open_store(lake_uri()), dataset)
    return found is not None and any(name.partition(".")[0] == day for name in found.release.partitions)


def late_message(dataset: str, owner: str, run: dict[str, Any], deadline: dict[str, Any]) -> Message:
    """What people read."""
    from headrace.quality.message import Message
    from headrace.settings import runbooks

    day = run["partition_key"]
    return Message(
        subject=f"[warning] {dataset} {day}: late, nothing published by {deadline['deadline_time']}",
        lines=(
            f"The run is {run['state']}. What was released before stays in use. Owner: {owner}.",
            f"Run: {run['dag_id']} {run['run_id']}",
            f"Run it again: airflow dags clear {run['dag_id']} --partition-key {day} --yes",
            f"What to do: {runbooks()}/late.md",
        ),
        level="warning",
    )


def _tell(message: Message, owner: str) -> None:
    """Over each of the owner's routes; a dead one hides nothing from the others."""
    from headrace.quality.routing import worth_telling
    from headrace.settings import declarations_folder
    from headrace.spec.load import load_declarations
    from headrace_alerts import ChannelDead, is_connected, send

    for route in load_declarations(declarations_folder()).routes:
        if not route.takes(owner) or not worth_telling(route, "warning") or not is_connected(route):
            continue
        try:
            send(route, message)
        except ChannelDead:
            log.exception("The alert did not get through over %s.", route.name)
