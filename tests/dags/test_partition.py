"""Which partition a run is about: the key, or a refusal that says what to do."""

from __future__ import annotations

import sys
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from tests.dags.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "dags"))

from wiring.params import RunConfRefused
from wiring.partition import PartitionKeyRefused, resolve_partition


def context(key: str | None, conf: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "dag_run": SimpleNamespace(partition_key=key, run_id="manual__1", conf=conf),
        "dag": SimpleNamespace(params={"why": ""}),
    }


def test_the_key_is_the_day() -> None:
    """First and last day are both allowed."""
    assert resolve_partition(context("2013-01-01"), start=date(2013, 1, 1), end=date(2013, 12, 31)) == "2013-01-01"
    assert resolve_partition(context("2013-12-31"), start=date(2013, 1, 1), end=date(2013, 12, 31)) == "2013-12-31"


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (None, "Trigger the DAG again with the day as its partition key, such as 2013-01-01"),
        ("yesterday", "'yesterday'"),
        ("2013-1-5", "'2013-1-5'"),
        ("20130105", "'20130105'"),
        ("2012-12-31", "data from 2013-01-01 to 2013-12-31"),
        ("2014-01-01", "data from 2013-01-01 to 2013-12-31"),
    ],
)
def test_anything_else_is_refused_at_once(key: str | None, says: str) -> None:
    """The refusal is final and says what to do."""
    with pytest.raises(PartitionKeyRefused, match=says):
        resolve_partition(context(key), start=date(2013, 1, 1), end=date(2013, 12, 31))


@pytest.mark.parametrize("conf", [None, {}, {"why": "late objects landed"}])
def test_a_run_may_say_why(conf: dict[str, Any] | None) -> None:
    """What the DAG declares, or nothing."""
    assert resolve_partition(context("2013-01-05", conf), start=date(2013, 1, 1), end=None) == "2013-01-05"


def test_a_parameter_the_dag_does_not_have_is_refused() -> None:
    """Airflow would take it and do nothing."""
    with pytest.raises(RunConfRefused, match="found parameters forse, overwrite; expected only parameters this DAG has: why"):
        resolve_partition(context("2013-01-05", {"overwrite": True, "forse": 1}), start=date(2013, 1, 1), end=None)
