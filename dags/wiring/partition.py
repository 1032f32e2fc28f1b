"""Which partition a run is about, and who it is: the only reader of Airflow's run context."""

from __future__ import annotations

from datetime import date
from typing import Any

from airflow.sdk import get_current_context
from headrace.errors import FinalError
from headrace.manifests.run import RunIdentity
from wiring.params import check_conf


class PartitionKeyRefused(FinalError):
    """The run has no partition key, or one its DAG has no data for."""


class NobodyTriggered(FinalError):
    """A decision that only a person may take was asked for by a machine."""


def resolve_partition(context: Any, *, start: date, end: date | None) -> str:
    """The run's partition key, a local date `YYYY-MM-DD` between `start` and `end` (both inclusive).

    Raises:
        RunConfRefused: the run was given parameters the DAG does not have.
        PartitionKeyRefused: with what to do. A run without a key would publish nothing that other DAGs wait for.
    """
    check_conf(context)
    return checked_day(f"run {context['dag_run'].run_id}", context["dag_run"].partition_key, start=start, end=end)


def checked_day(who: str, key: str | None, *, start: date, end: date | None) -> str:
    """The key itself, when it is a day between `start` and `end`. Raises PartitionKeyRefused, naming `who`, otherwise."""
    if key is None:
        raise _refused(
            who, "no partition key", f"Trigger the DAG again with the day as its partition key, such as {start.isoformat()}."
        )
    try:
        day = date.fromisoformat(key)
    except ValueError as error:
        raise _refused(who, f"partition key {key!r}", f"Trigger the DAG again with a day such as {start.isoformat()}.") from error
    if day.isoformat() != key or day < start or (end is not None and day > end):
        last = "on" if end is None else f"to {end.isoformat()}"
        raise _refused(who, f"partition key {key!r}", f"This DAG has data from {start.isoformat()} {last}.")
    return key


def current_partition(start: date, end: date | None) -> str:
    """`resolve_partition` of the task that runs now."""
    return resolve_partition(get_current_context(), start=start, end=end)


def current_run() -> RunIdentity:
    """The run that is running now, as manifests record it."""
    from headrace.settings import read_settings

    run: Any = get_current_context()["dag_run"]
    return RunIdentity(
        dag=run.dag_id,
        run_id=run.run_id,
        kind=str(getattr(run.run_type, "value", run.run_type)),
        partition_key=run.partition_key or "",
        code_version=read_settings().code_version,
    )


def current_person() -> str:
    """The name Airflow knows the person by who triggered the run that is running now.

    Raises:
        NobodyTriggered: a schedule, an asset or another DAG did.
    """
    run: Any = get_current_context()["dag_run"]
    if run.triggering_user_name is None or str(getattr(run.run_type, "value", run.run_type)) != "manual":
        raise NobodyTriggered(
            f"run {run.run_id}",
            found="a run that no person triggered",
            expected="a person, logged in",
            remedy="Trigger it from the UI, or over the API as yourself.",
        )
    return str(run.triggering_user_name)


def _refused(who: str, found: str, remedy: str) -> PartitionKeyRefused:
    return PartitionKeyRefused(who, found=found, expected="a day of this DAG's data as the partition key", remedy=remedy)
