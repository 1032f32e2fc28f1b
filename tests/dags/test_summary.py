"""When the one message about a backfill is sent: never while anything of it is at work, however long that takes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from headrace.lake.local import LocalStore
from headrace.quality.incident_store import change_incidents, read_incidents
from headrace.quality.incidents import observe
from headrace.quality.judgement import Finding, Judgement
from headrace.spec.alerts import AlertRoute
from headrace.spec.canonical import instant_text

from tests.dags.conftest import REPOSITORY

pytestmark = pytest.mark.filterwarnings("default")  # importing Airflow warns of its own dependencies

ROUTE = AlertRoute(name="slack", channel="slack", connection="c")
BAD = Finding(check="drift.x", feature="x", level="critical", reason="It moved.")


class Instance:
    """What a task asks Airflow: how many runs and task instances of a DAG are in some states."""

    def __init__(self, runs: dict[str, int], tasks: dict[str, int]) -> None:
        self.runs, self.tasks = runs, tasks

    def get_dr_count(self, dag_id: str, states: list[str]) -> int:
        assert states == ["queued"]
        return self.runs.get(dag_id, 0)

    def get_ti_count(self, dag_id: str, states: list[str], task_ids: list[str] | None = None) -> int:
        assert "deferred" not in states  # a scheduled run that waits two days for its settlement is not at work
        return self.tasks.get(f"{dag_id}.{task_ids[0]}" if task_ids else dag_id, 0)


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Let the summary of run `r2` look, an hour after its day was found bad: `waits`, or what was sent."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "dags"))
    monkeypatch.syspath_prepend(str(REPOSITORY / "plugins"))
    monkeypatch.setenv("HEADRACE_LAKE", tmp_path.as_uri())
    from airflow.sdk.exceptions import TaskDeferred
    from wiring import summary, telling

    lake, sent = LocalStore(tmp_path), []
    for number in (1, 2):
        judgement = Judgement(
            partition=f"2013-01-0{number}",
            subject="s",
            headline="Blocked",
            report="r",
            run=f"r{number}",
            at=instant_text(datetime.now(UTC) - timedelta(hours=1)),
            findings=(BAD,),
            quiet=True,
        )
        change_incidents(lake, "d", "gate", partial(observe, judgement=judgement))
    monkeypatch.setattr(telling, "connected", lambda routes, _owners: list(routes))
    monkeypatch.setattr(telling, "again", lambda partition: f"again {partition}")
    monkeypatch.setattr(telling, "deliver", lambda _desk, _route, message: sent.append(message.subject) is None)
    task = summary.SummaryTask(
        task_id="summary", dataset="d", owner_name="o", routes=(ROUTE,), chain=("roots",), before=("join",)
    )

    def looks(run: str, runs: dict[str, int], tasks: dict[str, int]) -> str:
        sent.clear()
        run_of_it = type("Run", (), {"run_id": run, "partition_key": "2013-01-02"})
        context: Any = {"ti": Instance(runs, tasks), "dag_run": run_of_it}
        try:
            task.execute(context)
        except TaskDeferred:
            return "waits"
        return "; ".join(sent)

    looks.lake = lake  # type: ignore[attr-defined] # for what is left of the backlog
    return looks


@pytest.mark.parametrize(
    ("runs", "tasks"),
    [
        ({"roots": 3}, {}),
        ({}, {"roots": 1}),
        ({"adhoc_airflow": 1}, {}),
        ({}, {"adhoc_airflow.join": 1}),
    ],
    ids=["a root is queued", "a root is at work", "a day is queued here", "a day is being joined or checked"],
)
def test_nothing_is_sent_while_the_backfill_goes_on(look: Any, runs: dict[str, int], tasks: dict[str, int]) -> None:
    """Long after the quiet time: a day that takes hours is still part of it, and one backfill has one summary."""
    assert look("r2", runs, tasks) == "waits"
    assert len(read_incidents(look.lake, "d", "gate").backlog) == 2


def test_one_summary_is_sent_by_the_last_that_found_something(look: Any) -> None:
    """The earlier run leaves it to the later; the later tells of both days, once; looking again tells nothing."""
    assert look("r1", {}, {}) == ""
    assert look("r2", {}, {}) == "[critical] d: backfill with 2 bad days, 2 held"
    assert look("r2", {}, {}) == ""
