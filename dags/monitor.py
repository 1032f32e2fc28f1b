"""`<training set>.monitor`: each day's live data against the training set in use, feature by feature, by the same feature code.

In: the day's requests from the declared live source, and the snapshots they could see, waited for. Out: a verdict with its report beside
the training set; the run fails when a critical check does, and people are told once. It releases nothing and changes nothing. Safe to
re-run: the same live data against the same release gives the same verdict.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from airflow.sdk import DAG, dag
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.alerts import AlertRoute
from headrace.spec.live import LiveSource
from headrace.spec.load import load_declarations
from headrace.spec.training_set import TrainingSet
from wiring import policy, schedules
from wiring.inputs import source_needs
from wiring.partition import current_run
from wiring.waiting import PartitionTask

log = logging.getLogger("headrace")


def monitor_dag(training_set: TrainingSet, live: LiveSource, routes: Sequence[AlertRoute]) -> DAG:
    """The DAG of one training set with a live source."""

    def day_over(partition: str) -> datetime | None:
        from headrace.features.needs import label_interval

        interval = label_interval(training_set, date.fromisoformat(partition))
        return None if interval is None else interval.end

    def needs(partition: str) -> list[Any]:
        return source_needs(training_set, live.dataset, date.fromisoformat(partition))

    def watch(partition: str) -> dict[str, Any]:
        """Wait for the day's requests and what they could see, compare them with the training set in use, tell people once."""
        from headrace.quality.monitor import watch_day
        from headrace_stores import open_store
        from wiring.alerting import tell_monitor

        lake = open_store(lake_uri())
        found = watch_day(training_set, live, date.fromisoformat(partition), current_run(), lake=lake)
        log.info("%s live %s: %s Report: %s", training_set.name, partition, found.verdict.headline, found.report)
        tell_monitor(training_set, found, partition, routes, lake=lake)
        found.check()
        return {"verdict": found.verdict.state, "report": found.report}

    @dag(
        dag_id=f"{training_set.name}.monitor",
        doc_md=__doc__,
        schedule=schedules.daily(training_set.holdout_timezone),
        start_date=schedules.first_run(training_set.first_day, training_set.holdout_timezone),
        end_date=schedules.last_run(training_set.end, training_set.holdout_timezone),
        catchup=False,
        max_active_runs=policy.MAX_ACTIVE_RUNS,
        default_args=policy.task_defaults(training_set.owner),
        tags=policy.tags(policy.Tag.MONITOR, policy.Tag.TRAINING),
    )
    def monitor() -> None:
        PartitionTask(
            task_id="watch",
            doc_md=watch.__doc__,
            start=training_set.first_day,
            end=training_set.end,
            not_before=day_over,
            needs=needs,
            work=watch,
            pool=policy.LAKE_POOL,
        )

    return monitor()


declarations = load_declarations(declarations_folder())
for declared in declarations.training_sets:
    if declared.live is not None:
        globals()[f"{declared.name}_monitor"] = monitor_dag(declared, declared.live, declarations.routes)
