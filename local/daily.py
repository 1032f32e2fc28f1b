"""Run the days: real Airflow backfills of the root DAGs over REST, and a wait until every DAG is final on every day.

Only what is missing or failed is asked for, so starting again on a finished house creates nothing. Runs that a killed scheduler
left under way are simply waited for: the new scheduler takes them up.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from headrace.spec.load import Declarations

from local import board as boards
from local.api import Api
from local.board import Board, Run, State
from local.errors import ApiError, HouseError

ROOT_TAG: Final = "root"
FOLLOWER_TAG: Final = "follows"
_MAKES_DAGS: Final = re.compile(r"^\s*@dag\b|\bDAG\(", re.MULTILINE)
_POLL_SECONDS: Final = 1.0
# An asset's event becomes a follower's run within a scheduler loop or two; after this long it will not come by itself.
_EVENT_PATIENCE_SECONDS: Final = 60.0
_PARSE_PATIENCE_SECONDS: Final = 180.0


@dataclass(frozen=True, kw_only=True)
class Dags:
    """The DAGs of the chain.

    Attributes:
        roots: those a backfill starts.
        followers: those that start by themselves after them.
        broken: files that do not import, with Airflow's text; the DAGs of other files do not suffer.
    """

    roots: Sequence[str]
    followers: Sequence[str]
    broken: Mapping[str, str]


def idle_files(declared: Declarations) -> frozenset[str]:
    """The DAG files of this repository for which nothing is declared: they make no DAG, so they never show up as parsed."""
    makes = {
        "compact.py": declared.datasets,
        "rollup.py": [one for one in declared.datasets if one.rollup is not None],
        "transform.py": declared.transforms,
        "snapshot.py": declared.views,
        "build.py": declared.training_sets,
        "approve.py": [one for one in declared.training_sets if one.quality is not None],
        "monitor.py": [one for one in declared.training_sets if one.live is not None],
    }
    return frozenset(file for file, items in makes.items() if len(items) == 0)


def find_dags(
    api: Api, folder: Path, since: float, pause: Callable[[float], None], *, idle: frozenset[str] = frozenset()
) -> Dags:
    """Wait until every DAG file but the `idle` ones was parsed after `since` (seconds since the epoch); the DAGs by their tags.

    Raises HouseError when there is no root DAG.
    """
    deadline = time.monotonic() + _PARSE_PATIENCE_SECONDS
    while True:
        dags = [dag for dag in api.all("dags", "dags", exclude_stale=True) if _parsed_after(dag, since)]
        errors = api.all("importErrors", "import_errors")
        parsed = {str(dag["relative_fileloc"]) for dag in dags} | {str(error["filename"]) for error in errors}
        if dag_files(folder) - idle <= parsed or time.monotonic() > deadline:
            break
        pause(_POLL_SECONDS)
    broken = {str(error["filename"]): str(error["stack_trace"]).strip() for error in errors}
    by_tag = {tag: sorted(dag["dag_id"] for dag in dags if tag in _tags(dag)) for tag in (ROOT_TAG, FOLLOWER_TAG)}
    if len(by_tag[ROOT_TAG]) == 0:
        raise HouseError(
            f"The DAGs in {folder}",
            found="\n".join([f"none tagged {ROOT_TAG!r}", *(f"{file} does not import: {text}" for file, text in broken.items())]),
            expected="at least one",
            remedy="See the dag-processor's log.",
        )
    return Dags(roots=by_tag[ROOT_TAG], followers=by_tag[FOLLOWER_TAG], broken=broken)


def read_board(api: Api, dags: Dags, keys: Sequence[str]) -> Board:
    """The state of every DAG and day now."""
    runs = [run for dag in (*dags.roots, *dags.followers) for run in _runs(api, dag)]
    return boards.board(dags.roots, dags.followers, keys, runs)


def run_days(
    api: Api, dags: Dags, keys: Sequence[str], *, show: Callable[[Board], None], pause: Callable[[float], None]
) -> Board:
    """Backfill what is missing or failed and wait for everything; the final board.

    Args:
        keys: the days, `YYYY-MM-DD`, in order.
        show: called with every new board.
        pause: waits that many seconds, and may raise to give up (a dead program, Ctrl-C).
    """
    current = read_board(api, dags, keys)
    for run in boards.runs_to_clear(current):
        api.post(f"dags/{run.dag}/dagRuns/{run.run}/clear", {"dry_run": False, "only_failed": True})
    wanted = {root: window for root in dags.roots if (window := boards.window_to_backfill(current, root)) is not None}
    quiet_since = time.monotonic()
    while True:
        for root, window in list(wanted.items()):
            if _backfill(api, root, window):
                del wanted[root]
        previous, current = current, read_board(api, dags, keys)
        show(current)
        if len(wanted) == 0 and current.is_finished:
            return current
        if current.states() != previous.states():
            quiet_since = time.monotonic()
        if len(wanted) == 0 and time.monotonic() - quiet_since > _EVENT_PATIENCE_SECONDS:
            for dag, key in boards.runs_to_trigger(current):
                api.post(f"dags/{dag}/dagRuns", {"logical_date": None, "partition_key": key})
            quiet_since = time.monotonic()
        pause(_POLL_SECONDS)


def run_roots(
    api: Api, days: Mapping[str, Sequence[str]], *, show: Callable[[Board], None], pause: Callable[[float], None]
) -> None:
    """Backfill some root DAGs on days of their own. What fails shows in the days that need it: they wait for it and say so."""
    for dag, keys in days.items():
        if len(keys) > 0:
            run_days(api, Dags(roots=[dag], followers=[], broken={}), keys, show=show, pause=pause)


def remove_runs(api: Api, dag: str, keys: Collection[str]) -> None:
    """Take away the runs of a follower on days nobody asked for: its inputs' lead-in started them, and they would wait in vain."""
    for run in _runs(api, dag):
        if run.key in keys and run.state is not State.DONE:
            path = f"dags/{dag}/dagRuns/{run.run}"
            if not run.state.is_final:
                api.patch(path, {"state": "failed"})
            api.delete(path)


def _backfill(api: Api, root: str, window: tuple[str, str]) -> bool:
    """Ask for one backfill; False while an earlier one of this DAG is still active. Both ends of the window are included."""
    first, last = window
    body = {
        "dag_id": root,
        "from_date": f"{first}T00:00:00Z",  # Airflow reads the wall clock of both ends in the timetable's own zone
        "to_date": f"{last}T00:00:00Z",
        "reprocess_behavior": "failed",  # missing days, and failed ones
    }
    try:
        api.post("backfills", body)
    except ApiError as error:
        if error.status != 409:
            raise
        return False
    return True


def _runs(api: Api, dag: str) -> list[Run]:
    rows = api.all(f"dags/{dag}/dagRuns", "dag_runs", order_by="id")
    return [
        Run(dag=dag, key=row["partition_key"], run=row["dag_run_id"], state=boards.state_of(row["state"]), order=order)
        for order, row in enumerate(rows)
        if row["partition_key"] is not None
    ]


def dag_files(folder: Path) -> set[str]:
    """The files that make DAGs, by their text: helpers beside them never show up as parsed."""
    found = (path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return {
        str(path.relative_to(folder)) for path in found if _MAKES_DAGS.search(path.read_text(encoding="utf-8", errors="replace"))
    }


def _parsed_after(dag: dict[str, Any], since: float) -> bool:
    parsed = dag["last_parsed_time"]
    return parsed is not None and datetime.fromisoformat(parsed).timestamp() >= since


def _tags(dag: dict[str, Any]) -> set[str]:
    return {tag["name"] for tag in dag["tags"]}
