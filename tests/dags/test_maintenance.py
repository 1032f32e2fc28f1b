"""The parts of the nightly DAG that are about words: the error that names damage, and where Airflow's database is."""

from __future__ import annotations

import json
import sys

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
