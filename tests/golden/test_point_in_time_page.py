"""The declarations of `docs/point-in-time.md` are run as they stand, on real flights."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.shards.table import read_partition

from tests.headrace.features.flights_lake import FlightsLake, days

PAGE = Path(__file__).parents[2] / "docs" / "point-in-time.md"
FIRST = date(2013, 1, 1)


@pytest.fixture(scope="module")
def declared() -> dict[str, Any]:
    """What the page's Python says, from top to bottom."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    return names


def test_the_page_declares_what_it_says(declared: dict[str, Any]) -> None:
    """A log by arrival, and a day in sixteen tasks."""
    assert declared["CLICKS"].by_arrival
    assert declared["LARGE"].buckets == 16


def test_the_page_s_filter_and_expression(declared: dict[str, Any]) -> None:
    """Of three flights two are long, and of these one was early."""
    flights = pa.table(
        {
            "sample_id": ["a", "b", "c"],
            "carrier": ["UA"] * 3,
            "dest": ["LAX"] * 3,
            "time_hour": pa.array([datetime(2013, 1, 1, 12, tzinfo=UTC)] * 3, pa.timestamp("us", tz="UTC")),
            "minute": [0, 0, 0],
            "dep_delay": [0, 0, 0],
            "air_time": [340, 340, 340],
            "arr_time": [1000, 1000, 1000],
            "distance": [2475, 1000, 2475],
            "arr_delay": [-7, -7, 7],
        }
    )

    found = declared["early_landings"](flights)

    assert found.select(["flight_id", "early"]).to_pylist() == [
        {"flight_id": "a", "early": True},
        {"flight_id": "c", "early": False},
    ]


def test_a_day_of_the_page_s_training_set_passes_its_audit(declared: dict[str, Any], tmp_path: Path) -> None:
    """Views and the log itself beside each label, each null with its reason; the engine is the page's."""
    lake = FlightsLake(LocalStore(tmp_path / "landing"), LocalStore(tmp_path / "lake"), FIRST, declared["FLIGHT_FRESH"])
    lake.land(days(FIRST, 2))
    for day in days(FIRST, 2):
        lake.compact(day)
        lake.snapshot(day)

    rows = read_partition(lake.lake, lake.build(date(2013, 1, 2)))

    landed = rows.column("last_landing__available_time").to_pylist()
    asked = rows.column("label_time").to_pylist()
    found = [at is None or at <= time for at, time in zip(landed, asked, strict=True)]
    assert (rows.num_rows, all(found)) == (928, True)
    nulls = sum(value is None for value in rows.column("arr_delay").to_pylist())
    assert nulls == sum(reason is not None for reason in rows.column("last_landing__reason").to_pylist())
    assert 0 < nulls < 928
