"""The rollup DAG: its graph, and its one task run in this process on a lake in a folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.read import published

from tests.dags.conftest import REPOSITORY, parse
from tests.headrace.shards.lake_building import csv_dataset, land
from tests.headrace.shards.lake_building import run as publish_day

sys.path.insert(0, str(REPOSITORY / "dags"))
sys.path.insert(0, str(REPOSITORY / "plugins"))

from airflow.sdk.exceptions import AirflowSkipException
from wiring.partition import PartitionKeyRefused

DECLARATION = """
from datetime import date
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv

DAYS = Dataset(
    name="d", timezone="UTC", start=date(2013, 1, 30), rollup="month",
    source=Source(prefix="in/%Y/%m/%d/", format=Csv(columns=columns(n="int64", name="string"))),
)
"""
DAYS = csv_dataset()


@pytest.fixture
def declarations(tmp_path: Path) -> Path:
    folder = tmp_path / "datasets"
    folder.mkdir()
    (folder / "days.py").write_text(DECLARATION)
    return folder


@pytest.fixture
def rolled(declarations: Path, lake: LocalStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """What the DAG's task returns for a day, with the lake and the declaration it finds in its environment."""
    for name, value in {
        "HEADRACE_DECLARATIONS": str(declarations),
        "HEADRACE_LAKE": lake.uri,
        "HEADRACE_SOURCE": "file:///nowhere",
    }.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("rollup_under_test", REPOSITORY / "dags" / "rollup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    dag = module.d_rollup

    def of_day(day: str) -> dict[str, Any]:
        run = SimpleNamespace(
            partition_key=day, run_id="asset_triggered__1", conf=None, dag_id=dag.dag_id, run_type="asset_triggered"
        )
        monkeypatch.setattr("wiring.partition.get_current_context", lambda: {"dag_run": run, "dag": dag})
        result: dict[str, Any] = dag.get_task("month").python_callable()
        return result

    return of_day


def test_its_graph_and_policy(declarations: Path, tmp_path: Path) -> None:
    """One task after each published day; a dataset that wants no months has no such DAG."""
    found = parse(tmp_path / "airflow", declarations)

    assert found["errors"] == {}
    assert set(found["dags"]) == {"d.compact", "d.rollup", "headrace.maintenance"}
    dag = found["dags"]["d.rollup"]
    assert dag["tasks"] == {"month": []}
    assert (dag["timetable"], dag["max_active_runs"], dag["pools"]) == (
        "PartitionedAssetTimetable",
        1,
        {"month": "headrace_lake"},
    )
    assert (dag["by_type"], dag["limits"], dag["past"]) == (True, True, False)
    assert "follows" in dag["tags"]


def test_a_month_is_written_when_its_last_day_is_there(
    rolled: Callable[[str], dict[str, Any]], landing: LocalStore, lake: LocalStore
) -> None:
    """In any order of the days; then again only when one of them changed."""
    land(landing, {"a.csv": b"n,name\n1,x\n"}, "2013-01-31")
    publish_day(DAYS, landing, lake, "2013-01-31")
    with pytest.raises(AirflowSkipException, match="2013-01 lacks 1 days, the first is 2013-01-30"):
        rolled("2013-01-31")
    land(landing, {"a.csv": b"n,name\n2,y\n"}, "2013-01-30")
    publish_day(DAYS, landing, lake, "2013-01-30")

    first = rolled("2013-01-30")

    assert first["release"] == 1
    assert rolled("2013-01-31") == first
    assert list(published(lake, "d_monthly").partitions) == ["2013-01"]
    land(landing, {"b.csv": b"n,name\n3,z\n"}, "2013-01-30")
    publish_day(DAYS, landing, lake, "2013-01-30")
    assert rolled("2013-01-30")["release"] == 2


def test_a_day_the_dataset_has_not_is_refused(rolled: Callable[[str], dict[str, Any]]) -> None:
    """As in every other DAG."""
    with pytest.raises(PartitionKeyRefused, match=date(2013, 1, 30).isoformat()):
        rolled("2013-01-29")
