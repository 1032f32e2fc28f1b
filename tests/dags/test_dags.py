"""Every DAG of the shipped declarations: its graph, its policy, and what parsing it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dags.conftest import REPOSITORY, parse

HEAVY = {"pyarrow", "numpy", "pandas", "duckdb", "scipy", "boto3", "botocore", "obstore", "great_expectations", "pyspark"}
LIGHT = {"errors", "settings", "stages", "spec", "lake", "manifests"}  # of `lake` and `manifests` only what needs no library
GRAPHS = {
    "flights.compact": {"plan": ["publish", "write"], "write": ["publish"], "publish": []},
    "carrier_delays.snapshot": {"preliminary": ["settled"], "settled": []},
    # `summary` runs only after a bad day of a backfill; it is skipped, at no cost, everywhere else.
    "flight_delay.build": {
        "join": ["audit"],
        "audit": ["check"],
        "check": ["promote", "summary"],
        "promote": [],
        "summary": [],
    },
    "flight_delay.approve": {"release": []},
    "flight_delay.monitor": {"watch": []},
    "headrace.maintenance": {"verify": ["remind"], "remind": [], "collect": [], "clean_metadata": []},
}


def test_every_file_imports(parsed: dict[str, Any]) -> None:
    """No import error, and exactly the DAGs of the declarations."""
    assert parsed["errors"] == {}
    assert set(parsed["dags"]) == set(GRAPHS)


@pytest.mark.parametrize("dag_id", GRAPHS)
def test_the_graph_is(parsed: dict[str, Any], dag_id: str) -> None:
    """Tasks and what runs after them."""
    assert parsed["dags"][dag_id]["tasks"] == GRAPHS[dag_id]


def test_parsing_loads_nothing_heavy(parsed: dict[str, Any]) -> None:
    """Specs and wiring only, no library that computes or talks to a store: the scheduler parses these files for ever."""
    packages = {name.partition(".")[0] for name in parsed["loaded"]}
    rooms = {name.split(".")[1] for name in parsed["loaded"] if name.startswith("headrace.")}

    assert HEAVY.intersection(packages) == set()
    assert rooms <= LIGHT


def test_parsing_a_file_costs_a_fraction_of_half_a_second(parsed: dict[str, Any]) -> None:
    """Of processor time, each file by itself."""
    assert {f"{name}.py" for name in ("approve", "build", "compact", "maintenance", "monitor", "snapshot")} <= set(
        parsed["seconds"]
    )
    assert [name for name, seconds in parsed["seconds"].items() if seconds >= 0.5] == []


@pytest.mark.parametrize("dag_id", GRAPHS)
def test_every_dag_keeps_the_policy(parsed: dict[str, Any], dag_id: str) -> None:
    """An owner, documentation also of each task, retries by type of error, time limits, bounded runs, no dependence on the past."""
    dag = parsed["dags"][dag_id]

    assert dag["owners"] == (["data-platform"] if dag_id == "headrace.maintenance" else ["flight-data"])
    assert len(dag["doc"]) > 200
    assert dag["undocumented"] == []
    assert dag["retries"] >= 2
    assert dag["by_type"]
    assert dag["limits"]
    assert not dag["past"]
    assert 1 <= dag["max_active_runs"] < 20  # beyond that Airflow 3.3 starves backfills
    assert set(dag["pools"].values()) <= {"default_pool", "headrace_lake"}
    assert len({"root", "follows", "monitor", "by hand", "maintenance"}.intersection(dag["tags"])) == 1


def test_damage_makes_the_night_a_failed_one(parsed: dict[str, Any]) -> None:
    """What decides the run's state: verifying too, though the reminder runs after it and whatever it found."""
    assert parsed["dags"]["headrace.maintenance"]["decisive"] == ["clean_metadata", "collect", "verify"]


def test_roots_run_daily_and_followers_after_them(parsed: dict[str, Any]) -> None:
    """Only partition timetables: the key is the identity of every run."""
    found = {dag_id: (dag["timetable"], dag["start"], dag["end"]) for dag_id, dag in parsed["dags"].items()}

    assert found["flights.compact"] == ("CronPartitionTimetable", "2013-01-02T05:00:00+00:00", "2014-01-01T05:00:00+00:00")
    assert found["carrier_delays.snapshot"] == found["flights.compact"]
    assert found["flight_delay.build"][0] == "PartitionedAssetTimetable"
    assert found["flight_delay.monitor"][0] == "CronPartitionTimetable"
    assert found["flight_delay.approve"][0] == "PartitionedAtRuntime"


DECLARATION = """
from datetime import date
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv

WEATHER = Dataset(
    name={name!r}, timezone={timezone!r}, start=date(2013, 1, 1),
    source=Source(prefix="weather/%Y/%m/%d/", format=Csv(columns=columns(temp="float64"))),
)
"""


def test_a_second_file_makes_a_second_set_and_a_bad_one_harms_nobody(tmp_path: Path) -> None:
    """The bad file is named in an import error with field, value and what is allowed; every other DAG is there."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    (folder / "flights.py").write_text((REPOSITORY / "include" / "datasets" / "flights.py").read_text())
    (folder / "weather.py").write_text(DECLARATION.format(name="weather", timezone="America/New_York"))
    (folder / "bad.py").write_text(DECLARATION.format(name="bad", timezone="America/Gotham"))

    found = parse(tmp_path / "airflow", folder)

    assert set(found["dags"]) == {*GRAPHS, "weather.compact"}
    assert list(found["errors"]) == ["declarations.py"]
    for part in ("bad.py", "Dataset bad.timezone", "'America/Gotham'", "an IANA zone"):
        assert part in found["errors"]["declarations.py"]


def test_a_training_set_with_buckets_is_joined_by_mapped_tasks(tmp_path: Path) -> None:
    """One task a bucket between a plan and a gathering; everything after that is as for the small ones."""
    folder = tmp_path / "datasets"
    folder.mkdir()
    text = (REPOSITORY / "include" / "datasets" / "flights.py").read_text()
    (folder / "flights.py").write_text(text.replace('name="flight_delay",', 'name="flight_delay",\n    buckets=16,'))

    found = parse(tmp_path / "airflow", folder)

    assert found["errors"] == {}
    small = GRAPHS["flight_delay.build"]
    dag = found["dags"]["flight_delay.build"]
    assert dag["tasks"] == {**small, "plan": ["gather", "join"], "join": ["gather"], "gather": ["audit"]}
    assert dag["mapped"] == {"join": 16}
    assert HEAVY.intersection(found["loaded"]) == set()


def test_the_small_case_takes_few_tasks(parsed: dict[str, Any]) -> None:
    """A day of the example, from its objects to a release: fifteen at most, none mapped but the shards' writing."""
    chain = [parsed["dags"][name] for name in ("flights.compact", "carrier_delays.snapshot", "flight_delay.build")]

    assert sum(len(dag["tasks"]) for dag in chain) <= 15
    assert [name for dag in chain for name in dag["mapped"]] == ["write"]


def test_roots_have_a_deadline_and_a_form(parsed: dict[str, Any]) -> None:
    """Six hours after the day's end for the dataset, after the settlement for the view; only a reason may be given."""
    found = {dag_id: (dag["deadlines"], dag["params"]) for dag_id, dag in parsed["dags"].items()}

    assert found["flights.compact"] == ([6 * 3600.0], ["why"])
    assert found["carrier_delays.snapshot"] == ([54 * 3600.0], ["why"])
    assert found["flight_delay.build"] == ([], [])


def test_the_examples_make_their_dags(tmp_path: Path) -> None:
    """Pictures and sources, each with a transform that follows it, under the same policy."""
    found = parse(tmp_path / "airflow", REPOSITORY / "include" / "datasets" / "examples")

    assert found["errors"] == {}
    graphs = {dag_id: dag["tasks"] for dag_id, dag in found["dags"].items() if dag_id.endswith(".transform")}
    graph = {"plan": ["publish", "run"], "run": ["publish"], "publish": []}
    assert graphs == {"picture_tensors.transform": graph, "source_chunks.transform": graph}
    assert HEAVY.union({"PIL"}).intersection(name.partition(".")[0] for name in found["loaded"]) == set()
    for dag_id in graphs:
        dag = found["dags"][dag_id]
        assert (dag["timetable"], dag["by_type"], dag["limits"]) == ("PartitionedAssetTimetable", True, True)
        assert "follows" in dag["tags"]
        assert len(dag["doc"]) > 200
