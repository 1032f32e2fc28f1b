"""What goes wrong on a running house: a killed worker, a poisoned object, and secrets where none may be."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any

import pytest
from headrace.lake.open import open_store
from headrace.manifests.read import latest, published, read_manifest
from headrace.runs.stored import find_run, run_name

from local.environment import BUCKET
from tests.e2e.conftest import Week

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

DAG = "flights_by_click.compact"


def trigger(week: Week, day: str) -> str:
    body = {"logical_date": None, "partition_key": day}
    return str(week.house.api.post(f"dags/{DAG}/dagRuns", body)["dag_run_id"])


def tasks(week: Week, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = week.house.api.get(f"dags/{DAG}/dagRuns/{run}/taskInstances")["task_instances"]
    return found


def kill_a_task(week: Week, run: str) -> bool:
    """SIGKILL for the process of a task of the run, found as the UI shows it; False if none runs, or it was done just before."""
    running = [task for task in tasks(week, run) if task["state"] == "running" and task["pid"] is not None]
    if running == []:
        return False
    struck = running[0]
    with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
        os.kill(struck["pid"], signal.SIGKILL)

    def state() -> str:
        # Airflow gives the next try an ID of its own.
        return next((str(task["state"]) for task in tasks(week, run) if task["id"] == struck["id"]), "tried again")

    week.wait(lambda: state() != "running", "the end of a killed task", every=0.1)
    return state() != "success"


def test_a_killed_worker_loses_nothing_and_is_called_what_it_was(week: Week, lake_uri: str) -> None:
    """SIGKILL in the middle of a task: tried again, the same bytes as an undisturbed run, and the report names the lost try."""
    run = trigger(week, "2013-01-06")
    path = f"dags/{DAG}/dagRuns/{run}"
    week.wait(lambda: kill_a_task(week, run), "a task that runs", seconds=300, every=0.1)
    week.wait(
        lambda: week.house.api.get(path)["state"] in {"success", "failed"}, "the run after its worker was killed", seconds=400
    )

    assert week.house.api.get(path)["state"] == "success"
    assert max(task["try_number"] for task in tasks(week, run)) == 2
    lake = open_store(lake_uri)
    report = find_run(lake, "flights_by_click", "2013-01-06", run_name(DAG, run))
    assert report is not None
    assert len(report.lost_tries) == 1
    assert report.lost_tries[0].endswith("try 1")
    shards = {name: published(lake, name).partitions["2013-01-06"] for name in ("flights", "flights_by_click")}
    manifests = [read_manifest(lake, name, "2013-01-06", digest) for name, digest in shards.items()]
    assert manifests[0].shards == manifests[1].shards


def test_a_poisoned_object_ends_a_run_once_and_holds_up_nobody(week: Week, lake_uri: str) -> None:
    """An object that no try can read: no second try, nothing published, the object named; the next day goes on."""
    week.house.s3.put_object(Bucket=BUCKET, Key="landing/flights/2013/02/01/poison.csv", Body=b"\x00\xff not a csv\n" * 10)
    week.house.s3.put_object(Bucket=BUCKET, Key="landing/flights/2013/02/01/empty.csv", Body=b"")
    poisoned, good = trigger(week, "2013-02-01"), trigger(week, "2013-01-07")

    for run, wanted in ((poisoned, "failed"), (good, "success")):
        path = f"dags/{DAG}/dagRuns/{run}"
        week.wait(lambda path=path: week.house.api.get(path)["state"] in {"success", "failed"}, f"run {run}", seconds=300)
        assert week.house.api.get(path)["state"] == wanted

    assert {task["try_number"] for task in tasks(week, poisoned) if task["state"] == "failed"} == {1}
    found = latest(open_store(lake_uri), "flights_by_click")
    assert found is not None
    assert "2013-02-01" not in found.release.partitions
    report = find_run(open_store(lake_uri), "flights_by_click", "2013-02-01", run_name(DAG, poisoned))
    assert report is not None
    assert "flights/2013/02/01/" in str([record.error for record in report.records])


def secrets(week: Week) -> dict[str, bytes]:
    """Everything a house keeps to itself, by name."""
    keys = vars(week.house.keys)
    assert len(keys) == 6
    return {name: str(value).encode() for name, value in keys.items()}


def test_no_secret_is_in_a_log_or_in_the_lake(week: Week, lake_uri: str) -> None:
    """Every task log, program log and object of the lake, read whole."""
    hidden = secrets(week)
    files = [
        path
        for folder in (week.house.places.logs, week.house.places.airflow / "logs")
        for path in folder.rglob("*")
        if path.is_file()
    ]
    lake = open_store(lake_uri)
    keys = [info.key for info in lake.list()]

    assert len(files) > 50
    assert len(keys) > 50
    leaks = [f"{name} in {path}" for path in files for name, value in hidden.items() if value in path.read_bytes()]
    leaks += [f"{name} in {key}" for key in keys for name, value in hidden.items() if value in lake.get(key).data]
    assert leaks == []


def test_no_secret_is_in_what_airflow_shows(week: Week) -> None:
    """XComs, rendered templates and run confs of every task of every run, as the API gives them out."""
    hidden, api = secrets(week), week.house.api
    shown: list[bytes] = []
    for dag in (*week.dags.roots, *week.dags.followers):
        for run in week.runs(dag)[:5]:
            path = f"dags/{dag}/dagRuns/{run['dag_run_id']}"
            shown.append(repr(run).encode())
            for task in api.get(f"{path}/taskInstances")["task_instances"]:
                shown.append(repr(task).encode())
                base = f"{path}/taskInstances/{task['task_id']}/xcomEntries"
                for entry in api.get(base, map_index=task["map_index"])["xcom_entries"]:
                    shown.append(repr(api.get(f"{base}/{entry['key']}", map_index=task["map_index"])).encode())

    assert len(shown) > 40
    assert [name for text in shown for name, value in hidden.items() if value in text] == []


def test_a_page_shows_no_secret(week: Week) -> None:
    """The pages of a real lake, asked for as a logged-in person."""
    import http.client

    token = week.house.api._new_token()
    hidden = secrets(week)
    for name in ("datasets", "runs", "quality", "snapshots", "sample", "datasets/flights", "runs/flights"):
        connection = http.client.HTTPConnection("127.0.0.1", week.house.ports.ui, timeout=60)
        connection.request("GET", f"/headrace/{name}", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status == 200, name
        assert [key for key, value in hidden.items() if value in body] == []
