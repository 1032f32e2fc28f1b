"""`headrace.maintenance`: every night a share of what lies in the lake is read again and checked, and what nothing needs is counted.

Each partition of each dataset is verified once in four weeks: every byte of its shards and index is read and compared with its manifest, so
that rot is found before a training run finds it. Nothing is removed unless a person triggers a run with *Delete*: then garbage goes that
no release, tag or running publication can reach and that is older than a week. Safe to re-run. A damaged shard fails the run and is named;
what to do stands in `docs/runbooks/damaged.md`.
"""

from __future__ import annotations

import logging
from typing import Any

import pendulum
from airflow.sdk import DAG, Param, dag, task
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.load import load_declarations
from wiring import policy, schedules

log = logging.getLogger("headrace")

NIGHTS = Param(
    28, type="integer", minimum=1, maximum=366, title="Nights", description_md="In how many nights everything is verified once."
)
DELETE = Param(False, type="boolean", title="Delete", description_md="Remove garbage. Without it, it is only counted.")  # noqa: FBT003 - a default


def maintenance_dag(names: list[str]) -> DAG:
    """The DAG over all declared names."""

    @dag(
        dag_id="headrace.maintenance",
        doc_md=__doc__,
        schedule=schedules.nightly(),
        start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
        catchup=False,
        max_active_runs=1,
        default_args=policy.task_defaults("data-platform"),
        params={"nights": NIGHTS, "delete": DELETE},
        tags=policy.tags(policy.Tag.MAINTENANCE),
    )
    def maintenance() -> None:
        @task(pool=policy.LAKE_POOL)
        def verify(dataset: str, params: Any = None, dag_run: Any = None) -> dict[str, int]:
            """Read tonight's share of the dataset again."""
            from headrace.lake.open import open_store
            from headrace.manifests.read import latest, manifest_of
            from headrace.runs.rotation import share_of
            from headrace.shards.verify import verify_partition
            from wiring.damage import check_findings

            lake = open_store(lake_uri())
            found = latest(lake, dataset)
            names = [] if found is None else share_of(found.release.partitions, dag_run.run_after.date(), params["nights"])
            manifests = [] if found is None else [manifest_of(lake, found.release, name) for name in names]
            findings = [finding for manifest in manifests for finding in verify_partition(lake, manifest)]
            log.info("%s: %d partitions verified, %d findings.", dataset, len(names), len(findings))
            check_findings(dataset, findings)
            return {"verified": len(names), "findings": len(findings)}

        @task(pool=policy.LAKE_POOL)
        def collect(dataset: str, params: Any = None) -> dict[str, int]:
            """Count what nothing can reach; remove it if a person said so."""
            from headrace.lake.open import open_store
            from headrace.manifests import gc

            lake = open_store(lake_uri())
            sweep = gc.find_garbage(lake, dataset)
            removed = gc.collect(lake, sweep) if params["delete"] else 0
            log.info(
                "%s: %d objects (%d bytes) unreachable, %d removed.", dataset, len(sweep.garbage), sweep.garbage_bytes, removed
            )
            return {"unreachable": len(sweep.garbage), "bytes": sweep.garbage_bytes, "removed": removed}

        verify.expand(dataset=names)
        collect.expand(dataset=names)

    return maintenance()


found = load_declarations(declarations_folder())
headrace_maintenance = maintenance_dag([one.name for one in (*found.datasets, *found.views, *found.training_sets)])
