"""A week of real flights through real Airflow: what a reader finds, and that it does not depend on how it came about."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from headrace.lake.open import open_store
from headrace.manifests.read import manifest_of, published

from local.environment import DECLARATIONS
from local.summary import summarise
from tests.e2e.conftest import OBJECTS, WEEK, Week

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

DATASETS = ("flights", "carrier_delays", "flight_delay")


def digests(lake_uri: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Release digest and manifest digests of every dataset."""
    lake = open_store(lake_uri)
    return {name: (published(lake, name).digest, published(lake, name).partitions) for name in DATASETS}


def test_every_run_of_the_week_is_done(week: Week) -> None:
    """Roots by backfill, the follower by itself, one cell each."""
    assert week.board.is_good, week.board.states()


def test_nothing_is_lost_and_nothing_twice(week: Week, lake_uri: str) -> None:
    """6,099 flights in seven partitions; every declared check passed."""
    summary = summarise(lake_uri, DECLARATIONS, WEEK)

    assert {day.day: day.samples for day in summary.days} == OBJECTS
    assert sum(day.samples for day in summary.days) == 6099
    assert sum(day.objects for day in summary.days) == 373
    assert {(release.lost, release.doubled) for release in summary.releases} == {(0, 0)}
    assert all(day.checks > 0 and day.checks_passed == day.checks for day in summary.days)


def test_pandas_and_duckdb_read_the_release_given_only_the_lakes_uri(week: Week, lake_uri: str) -> None:
    """Peers that know nothing of us count the same: pointer, release, manifests and shards are plain JSON and Parquet."""
    import json

    import duckdb
    import pandas as pd
    import s3fs

    files = s3fs.S3FileSystem()
    base = lake_uri.removeprefix("s3://") + "/flights"
    number = json.loads(files.cat(f"{base}/LATEST"))["number"]
    release = json.loads(files.cat(f"{base}/releases/{number:08d}.json"))
    manifests = [
        json.loads(files.cat(f"{base}/manifests/{line['partition']}/{line['manifest']}.json"))
        for line in release["content"]["partitions"]
    ]
    shards = [f"s3://{base}/shards/{shard['sha256']}.parquet" for one in manifests for shard in one["content"]["shards"]]

    frame = pd.concat([pd.read_parquet(uri, filesystem=files) for uri in shards])
    connection = duckdb.connect()
    connection.register_filesystem(files)
    counted = connection.sql(f"SELECT count(*), count(DISTINCT sample_id), sum(distance) FROM read_parquet({shards})").fetchall()

    assert len(frame) == 6099
    assert counted == [(6099, frame["sample_id"].nunique(), frame["distance"].sum())]


def test_the_week_again_in_reverse_gives_the_same_digests(week: Week, lake_uri: str) -> None:
    """Reprocessed by the REST backfill API, last day first: the same manifests and the same releases."""
    before = digests(lake_uri)
    runs_before = {dag: len(week.runs(dag)) for dag in (*week.dags.roots, *week.dags.followers)}
    for root in week.dags.roots:
        week.house.api.post(
            "backfills",
            {
                "dag_id": root,
                "from_date": f"{WEEK[0]}T00:00:00Z",
                "to_date": f"{WEEK[-1]}T00:00:00Z",
                "reprocess_behavior": "completed",
                "run_backwards": True,
            },
        )

    def again() -> bool:
        new = {dag: week.runs(dag)[count:] for dag, count in runs_before.items()}
        if any(run["state"] == "failed" for run in itertools.chain(*new.values())):
            pytest.fail(f"a reprocessed run failed: {new}")
        return all(len(runs) >= len(WEEK) and all(run["state"] == "success" for run in runs) for runs in new.values())

    week.wait(again, "seven more successful runs of each DAG", seconds=800)
    assert digests(lake_uri) == before


def test_schedule_hand_and_backfill_make_the_same_bytes(week: Week, lake_uri: str) -> None:
    """One day run by the schedule itself, by a manual trigger with a key, and by backfill: the same shards."""
    week.house.api.post("dags/flights_by_hand.compact/dagRuns", {"logical_date": None, "partition_key": "2013-01-03"})

    def both() -> bool:
        runs = [*week.runs("flights_by_hand.compact"), *week.runs("flights_by_schedule.compact")]
        return len(runs) >= 2 and all(run["state"] == "success" for run in runs)

    week.wait(both, "the manual and the scheduled run")
    lake = open_store(lake_uri)
    names = ("flights", "flights_by_hand", "flights_by_schedule")
    manifests = [manifest_of(lake, published(lake, name), "2013-01-03") for name in names]
    kinds = {run["run_type"] for dag in names for run in week.runs(f"{dag}.compact") if run["partition_key"] == "2013-01-03"}
    assert kinds == {"backfill", "manual", "scheduled"}
    assert len(week.runs("flights_by_schedule.compact")) == 1
    assert manifests[0].shards == manifests[1].shards == manifests[2].shards
    assert manifests[0].counts.samples == OBJECTS["2013-01-03"]


def test_a_manual_trigger_without_a_key_fails_at_once_and_says_what_to_do(week: Week) -> None:
    """No retry, one sentence."""
    run = week.house.api.post("dags/flights.compact/dagRuns", {"logical_date": None})["dag_run_id"]
    path = f"dags/flights.compact/dagRuns/{run}"

    week.wait(lambda: week.house.api.get(path)["state"] in {"failed", "success"}, "the run without a key")

    assert week.house.api.get(path)["state"] == "failed"
    plan: dict[str, Any] = week.house.api.get(f"{path}/taskInstances/plan")
    assert (plan["state"], plan["try_number"]) == ("failed", 1)
    log = str(week.house.api.get(f"{path}/taskInstances/plan/logs/1", full_content=True))
    assert "found no partition key" in log
    assert "Trigger the DAG again with the day as its partition key, such as 2013-01-01" in log
