"""When a scheduled day should be published, as Airflow deadlines on root DAGs.

A scheduled run is queued at its tick, the local midnight that ends its day, so the deadline counts from there; a partitioned run has no
logical date to count from. Airflow raises a deadline for backfills too, at once for every old day: the callback is told which kind of run
it was and says nothing then. What follows from a root is judged on the *Runs* page: its run begins when its inputs are there.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference


def due_after(wait: timedelta, *, dataset: str, owner: str) -> DeadlineAlert:
    """The deadline of one root DAG: `wait` after the day's end."""
    return DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=wait,
        callback=SyncCallback("headrace_deadlines.tell_late", kwargs={"dataset": dataset, "owner": owner}),
        name=f"{dataset} is due",
    )
