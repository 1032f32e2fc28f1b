"""`headrace.maintenance`: every night a share of what lies in the lake is read again and checked, and what nothing needs is counted.

*verify*: each partition of each dataset once in four weeks, and what was damaged before every night: every byte of its shards and index is
read and compared with its manifest, so that rot is found before a training run finds it. A damaged shard fails the task of its dataset and
with it the run, is an incident, is told once, and holds up nothing else; what to do stands in `docs/runbooks/damaged.md`. *collect*:
counts what no release, tag or running publication can reach and is older than a week; removed only when a person triggers a run with
*Delete*. *remind*: one message about incidents that have been open for a day and are with nobody. *clean_metadata*: old rows of
Airflow's own database, when the connection `headrace_metadata` exists. Safe to re-run.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pendulum
from airflow.sdk import DAG, Param, dag, task
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.load import Declarations, load_declarations
from wiring import policy, schedules

log = logging.getLogger("headrace")

PARAMS = {
    "nights": Param(
        28,
        type="integer",
        minimum=1,
        maximum=366,
        title="Nights",
        description_md="In how many nights everything is verified once.",
    ),
    "delete": Param(
        False,  # noqa: FBT003 - a default
        type="boolean",
        title="Delete",
        description_md="Remove garbage. Without it, it is only counted.",
    ),
    "keep_days": Param(
        90,
        type="integer",
        minimum=14,
        maximum=3650,
        title="Keep days",
        description_md="Airflow's own records of so many days stay.",
    ),
}


def maintenance_dag(owners: dict[str, str], declared: Declarations) -> DAG:
    """The DAG over all declared datasets. `owners`: by name."""

    @dag(
        dag_id="headrace.maintenance",
        doc_md=__doc__,
        schedule=schedules.nightly(),
        start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
        catchup=False,
        max_active_runs=1,
        default_args=policy.task_defaults("data-platform"),
        params=PARAMS,
        tags=policy.tags(policy.Tag.MAINTENANCE),
    )
    def maintenance() -> None:
        @task(pool=policy.LAKE_POOL, map_index_template="{{ task.op_kwargs['dataset'] }}")
        def verify(dataset: str, params: Any = None, dag_run: Any = None) -> dict[str, int]:
            """Read tonight's share of the dataset again, and what was damaged before."""
            from headrace.quality.routing import Owners
            from headrace.runs.night import verify_tonight
            from headrace_stores import open_store
            from wiring.damage import check_findings, damaged_before, tell_damage
            from wiring.telling import Desk

            lake = open_store(lake_uri())
            night, before = dag_run.run_after.date(), damaged_before(lake, dataset)
            found = verify_tonight(lake, dataset, night, nights=params["nights"], damaged=before)
            log.info("%s: %d verified, %d findings.", dataset, len(found.partitions), len(found.findings))
            owner = Owners(dataset=owners[dataset])
            tell_damage(Desk(dataset=dataset, owners=owner, routes=declared.routes, stream="lake", lake=lake), found)
            check_findings(dataset, found.findings)
            return {"verified": len(found.partitions), "findings": 0}

        @task(pool=policy.LAKE_POOL, map_index_template="{{ task.op_kwargs['dataset'] }}")
        def collect(dataset: str, params: Any = None) -> dict[str, int]:
            """Count what nothing can reach; remove it if a person said so."""
            from headrace.manifests import gc
            from headrace_stores import open_store

            lake = open_store(lake_uri())
            sweep = gc.find_garbage(lake, dataset)
            log.info("%s: %d objects (%d bytes) unreachable.", dataset, len(sweep.garbage), sweep.garbage_bytes)
            removed = gc.collect(lake, sweep) if params["delete"] else 0
            log.info("%s: %d objects removed.", dataset, removed)
            return {"unreachable": len(sweep.garbage), "bytes": sweep.garbage_bytes, "removed": removed}

        @task
        def remind() -> dict[str, int]:
            """One message about what lies there with nobody."""
            from headrace_stores import open_store
            from wiring.reminding import send_reminders

            return send_reminders(owners, declared.routes, datetime.now(UTC), lake=open_store(lake_uri()))

        @task
        def clean_metadata(params: Any = None, dag_run: Any = None) -> None:
            """Remove old rows of Airflow's own database."""
            from wiring import metadata

            metadata.clean_metadata(dag_run.run_after - timedelta(days=params["keep_days"]))

        names = sorted(owners)
        policy.documented(verify).expand(dataset=names) >> remind().as_teardown()  # runs whatever was found, and hides no failure
        policy.documented(collect).expand(dataset=names)
        clean_metadata()

    return maintenance()


found = load_declarations(declarations_folder())
owners_by_name = {
    **{one.name: one.owner for one in found.datasets},
    **{one.name: one.owner for one in found.transforms},
    **{one.name: one.owner for one in found.views},
    **{one.name: one.owner for one in found.training_sets},
}
headrace_maintenance = maintenance_dag(owners_by_name, found)
