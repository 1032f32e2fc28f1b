"""One running house for the end-to-end tests: real PostgreSQL, SeaweedFS and Airflow, with the week of flights run once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from headrace.spec.load import load_declarations

from local import landing
from local.board import Board
from local.daily import Dags, find_dags, idle_files, run_days
from local.environment import BUCKET
from local.house import House
from local.places import REPOSITORY
from tests.conftest import house_folder

WEEK = [f"2013-01-0{day}" for day in range(1, 8)]
OBJECTS = dict(zip(WEEK, (842, 943, 914, 915, 720, 832, 933), strict=True))

# The flights once more under other names: one day run by the schedule alone, one by hand.
TWINS = """
from dataclasses import replace
from datetime import date

from headrace_declarations.flights import FLIGHTS as _FLIGHTS

DAY = date(2013, 1, 3)
BY_SCHEDULE = replace(_FLIGHTS, name="flights_by_schedule", start=DAY, end=DAY, catchup=True)
BY_HAND = replace(_FLIGHTS, name="flights_by_hand", start=DAY, end=DAY)
BY_CLICK = replace(_FLIGHTS, name="flights_by_click")
"""


@dataclass(frozen=True, kw_only=True)
class Week:
    """The house, its DAGs, and the board after the first backfill."""

    house: House
    dags: Dags
    board: Board

    def wait(self, done: Callable[[], bool], what: str, seconds: float = 400.0, every: float = 1.0) -> None:
        """Wait for a fact, asked every so many seconds; fail saying which."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {seconds:.0f} s: {what}")
            self.house.pause(every)

    def runs(self, dag: str) -> list[dict[str, Any]]:
        return self.house.api.all(f"dags/{dag}/dagRuns", "dag_runs", order_by="id")


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    """Seven days of flights, backfilled through the REST API as `bin/run` does it."""
    folder = tmp_path_factory.mktemp("declarations")
    (folder / "flights.py").write_text((REPOSITORY / "include" / "datasets" / "flights.py").read_text())
    (folder / "twins.py").write_text(TWINS)
    with house_folder() as home, House(home, declarations=folder) as house:
        table = landing.flights_table(landing.flights_file())
        days = landing.asked_days(landing.FIRST_DAY, len(WEEK))
        landing.land(house.s3, BUCKET, "landing", landing.source_objects(table, days))
        idle = idle_files(load_declarations(folder))
        found = find_dags(house.api, REPOSITORY / "dags", house.parsing_since, house.pause, idle=idle)
        chain = Dags(roots=["carrier_delays.snapshot", "flights.compact"], followers=["flight_delay.build"], broken=found.broken)
        board = run_days(house.api, chain, WEEK, show=lambda _: None, pause=house.pause)
        yield Week(house=house, dags=chain, board=board)


@pytest.fixture
def lake_uri(week: Week, monkeypatch: pytest.MonkeyPatch) -> str:
    """The house's lake, reachable through the standard AWS chain."""
    for name, value in week.house.environment.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    return week.house.environment["HEADRACE_LAKE"]


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures of the UI are kept for people to look at."""
    folder = REPOSITORY / ".headrace" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
