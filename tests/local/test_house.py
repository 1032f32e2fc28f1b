"""The real house: it starts, survives what kills it, runs its days once, and leaves nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from local.board import State
from local.components import SCHEDULER
from local.daily import find_dags, read_board, run_days
from local.errors import HouseError
from local.house import House
from local.places import REPOSITORY
from tests.conftest import house_folder

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

KEYS = ["2013-01-01", "2013-01-02"]
CHAIN = """
from __future__ import annotations

import os
import time

import pendulum
from airflow.sdk import Asset, CronPartitionTimetable, PartitionedAssetTimetable, dag, task

DAILY = CronPartitionTimetable("0 0 * * *", timezone="America/New_York", run_offset=-1, key_format="%Y-%m-%d")
FIRST = pendulum.datetime(2013, 1, 1, tz="America/New_York")
FLIGHTS = Asset("flights")


@dag(dag_id="flights.compact", schedule=DAILY, start_date=FIRST, end_date=FIRST.add(days=9), catchup=False, tags=["root"])
def compact():
    @task(outlets=[FLIGHTS], retries=2, retry_delay=1, pool="headrace_lake")
    def write(dag_run=None):
        import headrace.errors
        import include.datasets

        # A test holds a first attempt until it has killed what it wants to kill.
        held = os.path.join(os.environ["HEADRACE_TEST_FOLDER"], "held")
        if os.path.exists(held):
            time.sleep(300)
        with open(os.path.join(os.environ["HEADRACE_TEST_FOLDER"], "written"), "a") as file:
            file.write(dag_run.partition_key + "\\n")

    write()


@dag(dag_id="training.build", schedule=PartitionedAssetTimetable(assets=FLIGHTS), start_date=FIRST, catchup=False, tags=["follows"])
def build():
    @task(retries=2, retry_delay=1)
    def join(dag_run=None):
        return dag_run.partition_key

    join()


compact()
build()
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A place for one house and its DAGs."""
    with house_folder() as made:
        (made / "dags").mkdir()
        (made / "dags" / "chain.py").write_text(CHAIN, encoding="utf-8")
        os.environ["HEADRACE_TEST_FOLDER"] = str(made)
        yield made
        del os.environ["HEADRACE_TEST_FOLDER"]


def living(home: Path) -> dict[int, str]:
    """Every process that works below a house's folder, or was told about it."""
    found = {}
    for process in psutil.process_iter():
        try:
            ours = Path(process.cwd()).is_relative_to(home) or any(str(home) in word for word in process.cmdline())
            if ours and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found[process.pid] = " ".join(process.cmdline())[:80]
        except psutil.Error:
            continue
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} seconds")
        time.sleep(0.2)


def run_chain(house: House, folder: Path) -> dict[tuple[str, str], State]:
    """Run the days and give their states."""
    chain = find_dags(house.api, folder / "dags", house.parsing_since, house.pause)
    return run_days(house.api, chain, KEYS, show=lambda _: None, pause=house.pause).states()


def runs(house: House, dag: str) -> list[str]:
    """The run ids of a DAG."""
    return sorted(run["dag_run_id"] for run in house.api.all(f"dags/{dag}/dagRuns", "dag_runs"))


def written(folder: Path) -> list[str]:
    """The keys that a root task wrote, in the order of writing."""
    path = folder / "written"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


DONE = {(dag, key): State.DONE for dag in ("flights.compact", "training.build") for key in KEYS}


def test_a_first_start_runs_the_days_and_leaves_no_process(folder: Path) -> None:
    """Roots by backfill, followers by their assets; one run per DAG and day; nothing stays behind."""
    home = folder / "house"
    with House(home, dags=folder / "dags") as house:
        assert run_chain(house, folder) == DONE
        assert [len(runs(house, dag)) for dag in ("flights.compact", "training.build")] == [2, 2]
        assert len(living(home)) > 6
        with pytest.raises(HouseError, match="it is running already"), House(home, dags=folder / "dags"):
            pass
    assert living(home) == {}


def test_a_killed_scheduler_loses_no_day_and_a_second_start_adds_no_run(folder: Path) -> None:
    """The new scheduler takes up the tasks that died with the old one; what is done stays done."""
    home = folder / "house"
    third = "2013-01-03"
    with House(home, dags=folder / "dags") as house:
        before = runs(house, "flights.compact")
        assert run_chain(house, folder) == DONE
        assert runs(house, "flights.compact") == before
        (folder / "held").touch()
        house.api.post("dags/flights.compact/dagRuns", {"logical_date": None, "partition_key": third})
        chain = find_dags(house.api, folder / "dags", house.parsing_since, house.pause)
        wait_for(lambda: _task_state(house, third) == "running", 180)
        house.kill(SCHEDULER)
        (folder / "held").unlink()
        house.start(SCHEDULER)
        wait_for(lambda: read_board(house.api, chain, [third]).is_good, 240)
    assert written(folder).count(third) == 1
    assert living(home) == {}


def test_a_supervisor_killed_mid_run_is_replaced_by_the_next_start(folder: Path) -> None:
    """`kill -9` leaves every server running; starting again ends them and finishes the days."""
    home, fresh = folder / "house", "2013-01-04"
    (folder / "held").touch()
    command = [sys.executable, "-m", "local", "--home", str(home), "--days", "4", "--once"]
    environment = {
        **os.environ,
        "HEADRACE_DAGS": str(folder / "dags"),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "include")]),
    }
    with (folder / "first.log").open("wb") as log:
        first = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    wait_for(lambda: f"{fresh} flights.compact: running" in (folder / "first.log").read_text(encoding="utf-8"), 240)
    first.send_signal(signal.SIGKILL)
    first.wait()
    left = living(home)
    assert len(left) > 6
    (folder / "held").unlink()

    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)

    assert second.returncode == 0, second.stdout + second.stderr
    assert f"{fresh} training.build: done" in second.stdout
    assert written(folder).count(fresh) == 1
    assert living(home) == {}


def test_a_dead_component_is_restarted_once_and_then_ends_the_house(folder: Path) -> None:
    """A second death is no accident: the house says which and stops."""
    home, said = folder / "house", []
    with House(home, dags=folder / "dags", say=said.append) as house:
        os.kill(house.pid(SCHEDULER), signal.SIGKILL)
        wait_for(lambda: house.exit_code(SCHEDULER) is not None, 60)
        house.watch()
        assert "Starting scheduler once more." in said
        os.kill(house.pid(SCHEDULER), signal.SIGKILL)
        wait_for(lambda: house.exit_code(SCHEDULER) is not None, 60)
        with pytest.raises(HouseError, match="scheduler ended with code -9"):
            house.watch()
    assert living(home) == {}


def test_ctrl_c_during_the_start_leaves_no_process(folder: Path) -> None:
    """Whenever it comes, what was started is ended."""
    home = folder / "house"
    command = [sys.executable, "-m", "local", "--home", str(home), "--days", "1"]
    environment = {
        **os.environ,
        "HEADRACE_DAGS": str(folder / "dags"),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "include")]),
    }
    running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for(lambda: len(living(home)) > 4, 120)

    running.send_signal(signal.SIGINT)

    told, _ = running.communicate(timeout=120)
    assert running.returncode == 130, told
    assert living(home) == {}


def _task_state(house: House, key: str) -> str | None:
    found = [run for run in house.api.all("dags/flights.compact/dagRuns", "dag_runs") if run["partition_key"] == key]
    tasks = house.api.all(f"dags/flights.compact/dagRuns/{found[0]['dag_run_id']}/taskInstances", "task_instances")
    return tasks[0]["state"] if len(tasks) > 0 else None
