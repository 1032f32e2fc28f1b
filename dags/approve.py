"""`<training set>.approve`: a person releases a day that the gate has held.

Trigger it from the UI with the day and your reason. Your name, the time and the reason stand in the release for as
long as this data is in use, and the failed checks you saw are named: other data of the day, or another failure, is held again. Who may
do this is who may trigger this DAG; give that right to few. Nothing waits for it, and doing it twice changes nothing.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.sdk import DAG, Asset, Param, dag, task
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.load import load_declarations
from headrace.spec.training_set import TrainingSet
from wiring import policy, schedules
from wiring.partition import checked_day, current_person, current_run

log = logging.getLogger("headrace")

DAY = Param(type="string", format="date", title="Day", description_md="The held day.")
WHY = Param(
    "", type="string", minLength=10, maxLength=1000, title="Why", description_md="Why this data may be used although it failed."
)


def approve_dag(training_set: TrainingSet) -> DAG:
    """The DAG of one training set with a gate."""

    @dag(
        dag_id=f"{training_set.name}.approve",
        doc_md=__doc__,
        schedule=schedules.by_hand(),
        start_date=schedules.first_run(training_set.first_day, training_set.holdout_timezone),
        catchup=False,
        max_active_runs=policy.MAX_ACTIVE_RUNS,
        default_args=policy.task_defaults(training_set.owner),
        params={"day": DAY, "why": WHY},
        tags=policy.tags(policy.Tag.BY_HAND, policy.Tag.TRAINING),
    )
    def approve() -> None:
        @task(outlets=[Asset(training_set.name)])
        def release(params: Any = None, outlet_events: Any = None) -> dict[str, Any]:
            """Record who, when and why, and release the held candidate."""
            from headrace.quality.gate import approve_held
            from headrace_stores import open_store
            from wiring.alerting import taken_on

            who, lake = current_person(), open_store(lake_uri())
            day = checked_day(f"approval by {who}", params["day"], start=training_set.first_day, end=training_set.end)
            made = approve_held(training_set, day, who=who, why=params["why"], run=current_run(), lake=lake)
            taken_on(training_set.name, made.checks, who, params["why"], lake=lake)
            log.info("%s %s: released by %s in release %d.", training_set.name, day, who, made.release.number)
            outlet_events[Asset(training_set.name)].add_partitions(day)
            return {"release": made.release.number, "digest": made.release.digest}

        release()

    return approve()


for declared in load_declarations(declarations_folder()).training_sets:
    if declared.quality is not None:
        globals()[f"{declared.name}_approve"] = approve_dag(declared)
