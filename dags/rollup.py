"""`<dataset>.rollup`: small days become a month.

Runs by itself after each day its dataset has published, for a dataset that declares `rollup="month"`. In: the shards of the day's month.
Out: shards, index, manifest and release of that month, a partition of `<dataset>_monthly`. A month is written when the last of its days is
there, in whatever order they come, and again only when one of them changed; until then the run is skipped and says which days are lacking.
Safe to re-run: an unchanged month is left alone.
"""

from __future__ import annotations

import logging

from airflow.sdk import DAG, dag, task
from airflow.sdk.exceptions import AirflowSkipException
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.dataset import Dataset
from headrace.spec.load import load_declarations
from wiring import policy, schedules
from wiring.partition import current_partition, current_run

log = logging.getLogger("headrace")


def rollup_dag(dataset: Dataset) -> DAG:
    """The DAG of one dataset whose months are wanted."""

    @dag(
        dag_id=f"{dataset.name}.rollup",
        doc_md=__doc__,
        schedule=schedules.after(dataset.name),
        start_date=schedules.first_run(dataset.start, dataset.timezone),
        catchup=False,
        max_active_runs=1,  # two days of one month would write it twice
        default_args=policy.task_defaults(dataset.owner),
        tags=policy.tags(policy.Tag.FOLLOWS, policy.Tag.SHARDS),
    )
    def rollup() -> None:
        @task(pool=policy.LAKE_POOL)
        def month() -> dict[str, str | int]:
            """Write the month of the run's day, when all its days are there."""
            from headrace.shards.rollup import lacking_days, roll_up
            from headrace_stores import open_store

            wanted, lake = current_partition(dataset.start, dataset.end)[: len("YYYY-MM")], open_store(lake_uri())
            lacking = lacking_days(lake, dataset.name, wanted, first=dataset.start, last=dataset.end)
            if lacking:
                raise AirflowSkipException(f"{dataset.name} {wanted} lacks {len(lacking)} days, the first is {lacking[0]}.")
            sizes = {"shard_bytes": dataset.shard_bytes, "row_group_bytes": dataset.row_group_bytes}
            manifest, release = roll_up(lake, dataset.name, wanted, current_run(), **sizes)
            log.info(
                "%s %s: %d samples in %d shards, in release %d.",
                manifest.dataset, wanted, manifest.counts.samples, len(manifest.shards), release.number,
            )  # fmt: skip
            return {"manifest": manifest.digest, "release": release.number, "digest": release.digest}

        month()

    return rollup()


for declared in load_declarations(declarations_folder()).datasets:
    if declared.rollup is not None:
        globals()[f"{declared.name}_rollup"] = rollup_dag(declared)
