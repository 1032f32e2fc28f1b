"""The parts of the nightly DAG that need no run: the error that names damage, what is read out of turn, where Airflow's database is."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tests.dags.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "dags"))

# Importing Airflow and its providers warns of their own dependencies.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize(
    ("connection", "address"),
    [
        ("postgres://airflow:p%40ss@postgres/airflow", "postgresql+psycopg2://airflow:p%40ss@postgres/airflow"),
        ("postgres://airflow:p@db:6543/other?sslmode=require", "postgresql+psycopg2://airflow:p@db:6543/other?sslmode=require"),
        (
            json.dumps({"conn_type": "postgres", "login": "postgres", "schema": "airflow", "extra": {"host": "/run/sockets"}}),
            "postgresql+psycopg2://postgres@/airflow?host=%2Frun%2Fsockets",
        ),
    ],
)
def test_a_connection_is_the_address_airflow_takes(connection: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the compose file gives it, with a port and options, and over a socket."""
    from airflow.sdk import BaseHook
    from wiring.metadata import CONNECTION, address_of

    monkeypatch.setenv(f"AIRFLOW_CONN_{CONNECTION.upper()}", connection)

    assert address_of(BaseHook.get_connection(CONNECTION)) == address


def test_damage_is_named_and_bounded() -> None:
    """The first five of seven findings, and how many more; no finding is no error."""
    from headrace.shards.verify import Finding
    from wiring.damage import LakeDamaged, check_findings

    findings = [
        Finding(partition=f"2013-01-0{n}", subject=f"shard {n}", found="3 bytes", expected="4 bytes", remedy="Restore it.")
        for n in range(1, 8)
    ]

    check_findings("flights", [])
    with pytest.raises(LakeDamaged) as caught:
        check_findings("flights", findings)
    assert str(caught.value).startswith(
        "flights: found 7 damaged: 2013-01-01 shard 1: 3 bytes, expected 4 bytes; 2013-01-02 shard 2"
    )
    assert str(caught.value).endswith("; and 2 more; expected every byte as its manifest says. Restore it.")


def test_what_a_person_found_damaged_is_read_again_that_night(tmp_path: Path) -> None:
    """Day 2 has an incident, `headrace verify` found day 1 since and day 3 right: days 1 and 2 are looked at out of turn."""
    from headrace.lake.local import LocalStore
    from headrace.quality.damage import looked
    from headrace.quality.incident_store import change_incidents
    from headrace.runs.night import Verified
    from headrace.runs.verified import keep_looks
    from headrace.shards.verify import Finding
    from wiring.damage import damaged_before

    lake = LocalStore(tmp_path)
    assert damaged_before(lake, "flights") == []
    days = ("2013-01-01", "2013-01-02", "2013-01-03")
    step = partial(looked, broken={days[1]: "Cut off."}, right=(), at="2026-01-01T00:00:00.000000Z")
    change_incidents(lake, "flights", "lake", step)
    cut = Finding(partition=days[0], subject="shard", found="3 bytes", expected="4 bytes", remedy="Restore it.")
    seen = Verified(partitions=(days[0], days[2]), release=dict.fromkeys(days, "a"), findings=(cut,))
    keep_looks(lake, "flights", seen, datetime(2026, 1, 2, tzinfo=UTC))

    assert damaged_before(lake, "flights") == [days[0], days[1]]
