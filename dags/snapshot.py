"""`<view>.snapshot`: the features of each entity at the end of one day, as they were known then.

In: the days of the log that the longest window covers, or, of a log partitioned by arrival, what arrived since the last state; waited
for. Out: a *preliminary* version (what had arrived when the day ended) and a *settled* one (what had arrived after the settlement), each
published once and never changed. Safe to re-run and to backfill, in any order: late data changes no version.
"""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Asset, dag
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.feature_view import FeatureView
from headrace.spec.load import load_declarations
from wiring import policy, schedules
from wiring.deadlines import due_after
from wiring.params import root_params
from wiring.partition import current_run
from wiring.waiting import PartitionTask

if TYPE_CHECKING:
    from headrace.features.versions import SnapshotKey

log = logging.getLogger("headrace")

KINDS = {
    "preliminary": "Wait for the day's end, then publish what had arrived by then; late events change nothing of it.",
    "settled": "Wait until the settlement is over, then publish what had arrived by then; later events change nothing of it.",
}


def snapshot_dag(view: FeatureView) -> DAG:
    """The DAG of one declared view."""

    def version(kind: str, **kwargs: Any) -> PartitionTask:
        def key_of(partition: str) -> SnapshotKey:
            from headrace.features.versions import preliminary_key, settled_key

            make = preliminary_key if kind == "preliminary" else settled_key
            return make(view, date.fromisoformat(partition))

        def needs(partition: str) -> list[Any]:
            from headrace.features.needs import version_log_days
            from headrace.manifests.needs import Needed

            days = version_log_days(view, key_of(partition))
            return [Needed(dataset=view.log.dataset, partition=day.isoformat()) for day in days]

        def known_at(partition: str) -> datetime:
            from headrace.features.needs import log_complete_at

            return log_complete_at(view, key_of(partition))

        def work(partition: str) -> dict[str, Any]:
            from headrace.features.materialise import materialise
            from headrace_stores import open_store

            done = materialise(view, key_of(partition), current_run(), lake=open_store(lake_uri()), clock=datetime.now(UTC))
            log.info("%s: %s.", done.manifest.partition, done.how)
            log.info("%s: %d entities, release %d.", done.manifest.partition, done.manifest.counts.samples, done.release.number)
            return {"version": done.manifest.partition, "release": done.release.number, "digest": done.release.digest}

        return PartitionTask(
            task_id=kind,
            doc_md=KINDS[kind],
            start=view.start,
            end=view.end,
            not_before=known_at,
            needs=needs,
            work=work,
            pool=policy.LAKE_POOL,
            **kwargs,
        )

    @dag(
        dag_id=f"{view.name}.snapshot",
        doc_md=__doc__,
        schedule=schedules.daily(view.cutoff.timezone),
        start_date=schedules.first_run(view.start, view.cutoff.timezone),
        end_date=schedules.last_run(view.end, view.cutoff.timezone),
        catchup=view.catchup,
        max_active_runs=policy.MAX_ACTIVE_RUNS,
        default_args=policy.task_defaults(view.owner),
        deadline=due_after(view.cutoff.settlement + view.freshness, dataset=view.name, owner=view.owner),
        params=root_params(view.start.isoformat()),
        tags=policy.tags(policy.Tag.ROOT, policy.Tag.FEATURES),
    )
    def snapshot() -> None:
        settled = version("settled", outlets=[Asset(view.name)])
        if view.preliminary:
            version("preliminary") >> settled

    return snapshot()


for declared in load_declarations(declarations_folder()).views:
    globals()[f"{declared.name}_snapshot"] = snapshot_dag(declared)
