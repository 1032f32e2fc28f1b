"""DAG files parsed as Airflow parses them: in a process of their own, with a database of its own, and what they loaded written down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

_PARSE = """
import json, os, sys, time
from airflow.dag_processing.dagbag import DagBag
sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
def literal(task):  # how many values it is mapped over, as written; 0 for what another task returns
    return max((len(one) for one in task._get_specified_expand_input().value.values() if isinstance(one, list)), default=0)

before = set(sys.modules)
bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
dags = {
    dag.dag_id: {
        "tasks": {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks},
        "timetable": type(dag.timetable).__name__, "tags": sorted(dag.tags), "doc": dag.doc_md or "",
        "start": dag.start_date.isoformat(), "end": dag.end_date and dag.end_date.isoformat(), "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "owners": sorted({task.owner for task in dag.tasks}),
        "retries": min(task.retries for task in dag.tasks),
        "by_type": all(task.retry_policy is not None for task in dag.tasks),
        "limits": all(task.execution_timeout is not None for task in dag.tasks),
        "pools": {task.task_id: task.pool for task in dag.tasks},
        "mapped": {task.task_id: literal(task) for task in dag.tasks if task.is_mapped},
        "decisive": sorted(
            task.task_id
            for task in dag.tasks
            if not task.is_teardown and all(dag.get_task(one).is_teardown for one in task.downstream_task_ids)
        ),
        "undocumented": [task.task_id for task in dag.tasks if len(task.doc_md or "") < 20],
        "past": any(task.depends_on_past for task in dag.tasks),
        "params": sorted(dag.params),
        "deadlines": [one.interval.total_seconds() for one in dag.deadline or []],
    }
    for dag in bag.dags.values()
}
loaded = sorted(set(sys.modules) - before)
errors = {os.path.basename(path): text for path, text in bag.import_errors.items()}
def cost(path):  # processor time of parsing a file again, as the DAG processor does for ever
    began = time.process_time()
    DagBag(path)
    return time.process_time() - began

seconds = {os.path.basename(one.file): cost(os.path.join(bag.dag_folder, one.file.lstrip("/"))) for one in bag.dagbag_stats}
print("RESULT" + json.dumps({"dags": dags, "errors": errors, "loaded": loaded, "seconds": seconds}))
"""


def parse(home: Path, declarations: Path) -> dict[str, Any]:
    """What a DAG processor finds in `dags/` with these declarations."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{REPOSITORY / 'include'}",
        "HEADRACE_DECLARATIONS": str(declarations),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PARSE], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        raise RuntimeError(done.stderr[-3000:])
    found: dict[str, Any] = json.loads(lines[0].removeprefix("RESULT"))
    return found


@pytest.fixture(scope="session")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The shipped declarations, parsed once."""
    return parse(tmp_path_factory.mktemp("airflow"), REPOSITORY / "include" / "datasets")
