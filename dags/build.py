"""`<training set>.build`: one day's labels joined to the features they could see, checked, and released or held.

Runs by itself for each day that the labels' dataset and every view have published; in: that day's labels and the snapshots that were
published by their times, waited for. Out: a candidate, its leakage audit (a failed one ends the run), a verdict with its report, and a
release if the verdict allows it; people are told once of what is wrong. Safe to re-run: the same inputs give the same candidate, and
nobody is told twice. To run a day again, clear its run, or backfill the root DAGs for that day: a backfill sends one summary. A held
day is released by `<training set>.approve`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from airflow.sdk import DAG, Asset, dag, task
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.alerts import AlertRoute
from headrace.spec.load import load_declarations
from headrace.spec.training_set import TrainingSet
from wiring import policy, schedules
from wiring.inputs import inputs_of
from wiring.joining import join_tasks
from wiring.partition import current_partition, current_run
from wiring.summary import SummaryTask

log = logging.getLogger("headrace")


def build_dag(training_set: TrainingSet, routes: Sequence[AlertRoute]) -> DAG:
    """The DAG of one declared training set."""
    landed = [training_set.labels.dataset, *(source.log.dataset for source in training_set.sources)]
    chain = [*dict.fromkeys(f"{name}.compact" for name in landed), *(f"{view.name}.snapshot" for view in training_set.views)]

    @dag(
        dag_id=f"{training_set.name}.build",
        doc_md=__doc__,
        schedule=schedules.after(*inputs_of(training_set)),
        start_date=schedules.first_run(training_set.first_day, training_set.holdout_timezone),
        catchup=False,
        max_active_runs=policy.MAX_ACTIVE_RUNS,
        default_args=policy.task_defaults(training_set.owner),
        tags=policy.tags(policy.Tag.FOLLOWS, policy.Tag.TRAINING),
    )
    def build() -> None:
        @task(pool=policy.LAKE_POOL)
        def audit(joined: dict[str, Any]) -> dict[str, Any]:
            """The leakage audit, by other means than the join's: a value that was not there yet at its label's time ends the run."""
            from headrace.features.audit import audit_candidate
            from headrace.manifests.read import read_manifest
            from headrace_stores import open_store

            day, lake = current_partition(training_set.first_day, training_set.end), open_store(lake_uri())
            made = read_manifest(lake, training_set.name, day, joined["candidate"])
            found = audit_candidate(training_set, made, current_run(), lake=lake)
            log.info("%s %s: no row looks ahead; %s.", training_set.name, day, found.naive_line)
            return {"candidate": made.digest, "naive": found.naive_line}

        @task(pool=policy.LAKE_POOL)
        def check(candidate: dict[str, Any]) -> dict[str, Any]:
            """Great Expectations judges the candidate's profile; verdict and report are stored, and people told, either way."""
            from headrace.quality.gate import check_candidate
            from headrace_stores import open_store
            from wiring.alerting import done, tell_gate

            day, lake = current_partition(training_set.first_day, training_set.end), open_store(lake_uri())
            found = check_candidate(training_set, day, candidate["candidate"], current_run(), lake=lake)
            log.info("%s %s: %s. Report: %s", training_set.name, day, found.line, found.report)
            waits = tell_gate(training_set, found, day, candidate["candidate"], routes, lake=lake)
            result = {"candidate": candidate["candidate"], "verdict": found.state, "report": found.report}
            return done(result, skip=[] if waits else ["summary"])

        @task(outlets=[Asset(training_set.name)])
        def promote(checked: dict[str, Any]) -> dict[str, Any]:
            """Release the candidate if its stored verdict allows it; hold it, and fail without retry, if not."""
            from headrace.quality.gate import promote_checked
            from headrace_stores import open_store

            day = current_partition(training_set.first_day, training_set.end)
            release = promote_checked(training_set, day, checked["candidate"], current_run(), lake=open_store(lake_uri()))
            log.info("%s %s: in release %d.", training_set.name, day, release.number)
            return {"release": release.number, "digest": release.digest}

        audited: Any = audit(join_tasks(training_set))
        checked: Any = check(audited)
        promote(checked)
        checked >> SummaryTask(
            task_id="summary",
            doc_md="One message about what a backfill found, when its last day is done; skipped in every other run.",
            dataset=training_set.name,
            owner_name=training_set.owner,
            routes=routes,
            chain=chain,
            before=("join", "check"),
        )

    return build()


declarations = load_declarations(declarations_folder())
for declared in declarations.training_sets:
    globals()[f"{declared.name}_build"] = build_dag(declared, declarations.routes)
