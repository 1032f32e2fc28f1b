"""`<transform>.transform`: one day's samples through a declared chain of functions, into a dataset of their own.

Runs by itself for each day that its input has published. In: that day's shards. Out: shards, index, manifest and release of the
transform, the code that ran, and the samples that failed, each with its traceback. Safe to re-run: an input shard that was
transformed by the same code is not transformed again; changed code makes all of it anew (`headrace plan` says how much).
"""

from __future__ import annotations

import logging
from typing import Any

from airflow.sdk import DAG, Asset, dag, task
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.dataset import Dataset
from headrace.spec.load import load_declarations
from headrace.spec.transform import Transform
from wiring import policy, schedules
from wiring.partition import current_partition, current_run

log = logging.getLogger("headrace")


def transform_dag(transform: Transform, root: Dataset) -> DAG:
    """The DAG of one declared transform. `root`: the dataset its chain begins with, whose days are its days."""

    @dag(
        dag_id=f"{transform.name}.transform",
        doc_md=__doc__,
        schedule=schedules.after(transform.dataset),
        start_date=schedules.first_run(root.start, root.timezone),
        catchup=False,
        max_active_runs=policy.MAX_ACTIVE_RUNS,
        default_args=policy.task_defaults(transform.owner),
        tags=policy.tags(policy.Tag.FOLLOWS, policy.Tag.TRANSFORMS),
    )
    def transform_samples() -> None:
        @task
        def plan(ti: Any = None) -> list[list[int]]:
            """Look each input shard up and decide the work."""
            from headrace.transforms.plan import batches, plan_transform
            from headrace_stores import open_store

            day = current_partition(root.start, root.end)
            made = plan_transform(transform, day, lake=open_store(lake_uri()))
            why = ", ".join(made.why) or "nothing changed"
            log.info("%s %s: %d of %d shards to do; %s.", transform.name, day, len(made.missing), len(made.input.shards), why)
            ti.xcom_push(key="input", value=made.input.digest)
            ti.xcom_push(key="code", value=made.fingerprint.digest)
            return batches(made)  # a task maps over what another one returned, not over a key of it

        @task(pool=policy.LAKE_POOL)
        def run(batch: list[int], given: str, code: str) -> None:
            """Transform some shards with all cores the task may use."""
            from headrace.manifests.read import read_manifest
            from headrace.transforms.run import transform_shards
            from headrace_stores import open_store

            day, lake = current_partition(root.start, root.end), open_store(lake_uri())
            manifest = read_manifest(lake, transform.dataset, day, given)
            transform_shards(transform, manifest, batch, fingerprint=code, lake=lake)

        @task(outlets=[Asset(transform.name)], trigger_rule="none_failed")
        def publish(given: str, code: str) -> dict[str, str | int]:
            """Account for every sample, store code and manifest, make the release."""
            from headrace.manifests.read import read_manifest
            from headrace.transforms.run import publish_planned
            from headrace_stores import open_store

            day, lake = current_partition(root.start, root.end), open_store(lake_uri())
            manifest = read_manifest(lake, transform.dataset, day, given)
            done = publish_planned(transform, manifest, code, current_run(), lake=lake)
            counts, release = done.manifest.counts, done.release
            failed = sum(counts.quarantined.values())
            log.info(
                "%s %s: %d samples became %d, %d failed, in release %d.",
                transform.name, day, counts.listed, counts.samples, failed, release.number,
            )  # fmt: skip
            return {"manifest": done.manifest.digest, "release": release.number, "digest": release.digest}

        planned: Any = plan()
        work = {"given": planned["input"], "code": planned["code"]}
        policy.documented(run).partial(**work).expand(batch=planned) >> publish(**work)

    return transform_samples()


declarations = load_declarations(declarations_folder())
for declared in declarations.transforms:
    globals()[f"{declared.name}_transform"] = transform_dag(declared, declarations.root_of(declared))
