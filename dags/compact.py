"""`<dataset>.compact`: one day's source objects become verified shards, a manifest and a release.

In: the day's objects below the declared prefix. Out: shards, index, manifest and release in the lake, and an asset event with the day as
its key. Safe to re-run and to backfill, in any order and in parallel: a day that did not change is not written again.
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.sdk import DAG, Asset, dag, task
from headrace.settings import declarations_folder, read_settings
from headrace.spec.dataset import Dataset
from headrace.spec.load import load_declarations
from wiring import policy, schedules
from wiring.deadlines import due_after
from wiring.params import root_params
from wiring.partition import current_partition, current_run

log = logging.getLogger("headrace")


def compact_dag(dataset: Dataset) -> DAG:
    """The DAG of one declared dataset."""

    @dag(
        dag_id=f"{dataset.name}.compact",
        doc_md=__doc__,
        schedule=schedules.daily(dataset.timezone),
        start_date=schedules.first_run(dataset.start, dataset.timezone),
        end_date=schedules.last_run(dataset.end, dataset.timezone),
        catchup=dataset.catchup,
        max_active_runs=policy.MAX_ACTIVE_RUNS,
        default_args=policy.task_defaults(dataset.owner),
        deadline=due_after(dataset.freshness, dataset=dataset.name, owner=dataset.owner),
        params=root_params(dataset.start.isoformat()),
        tags=policy.tags(policy.Tag.ROOT, policy.Tag.SHARDS),
    )
    def compact() -> None:
        @task
        def plan(ti: Any = None) -> list[list[int]]:
            """List the day's objects and decide the work."""
            from headrace.shards.compact import plan_partition
            from headrace.shards.plan import batches
            from headrace_stores import open_store

            day, where = current_partition(dataset.start, dataset.end), read_settings()
            made = plan_partition(dataset, day, source=open_store(where.source), lake=open_store(where.lake))
            log.info(
                "%s %s: %d objects listed, %d of %d groups to write.",
                dataset.name,
                day,
                made.inventory.listed,
                len(made.groups) - len(made.done),
                len(made.groups),
            )
            ti.xcom_push(key="plan", value=made.digest)
            return batches(made)  # a task maps over what another one returned, not over a key of it

        @task(pool=policy.LAKE_POOL)
        def write(batch: list[int], plan_digest: str) -> None:
            """Write the shards of some groups; what an earlier try finished is kept."""
            from headrace.shards.compact import read_plan
            from headrace.shards.group import write_groups
            from headrace_stores import open_store

            day, where = current_partition(dataset.start, dataset.end), read_settings()
            source, lake = open_store(where.source), open_store(where.lake)
            made = read_plan(lake, dataset.name, day, plan_digest)
            for group, result in zip(batch, write_groups(dataset, made, batch, source=source, lake=lake), strict=True):
                log.info("Group %d: %d samples in %d shards, written and read back.", group, result.samples, len(result.shards))

        @task(outlets=[Asset(dataset.name)], trigger_rule="none_failed")
        def publish(plan_digest: str) -> dict[str, str | int]:
            """Account for every object, store the manifest, make the release."""
            from headrace.shards.compact import publish_partition, read_plan
            from headrace_stores import open_store

            day, lake = current_partition(dataset.start, dataset.end), open_store(read_settings().lake)
            made = read_plan(lake, dataset.name, day, plan_digest)
            published = publish_partition(dataset, made, current_run(), lake=lake)
            release = published.release
            log.info("%s %s: %d samples, in release %d.", dataset.name, day, published.manifest.counts.samples, release.number)
            return {"manifest": published.manifest.digest, "release": release.number, "digest": release.digest}

        planned: Any = plan()
        written = policy.documented(write).partial(plan_digest=planned["plan"]).expand(batch=planned)
        written >> publish(planned["plan"])

    return compact()


for declared in load_declarations(declarations_folder()).datasets:
    globals()[f"{declared.name}_compact"] = compact_dag(declared)
