"""A tiny feed for tests of what reads and writes a lake: rides per driver, each known some hours after it began.

One CSV object a day, `driver,began,known_after_hours,tip`; a ride's label is whether it was tipped.
"""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from headrace.lake.local import LocalStore
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import Published, plan_partition, publish_partition
from headrace.shards.group import write_group
from headrace.shards.plan import batches
from headrace.spec.aggregates import count, sum_of
from headrace.spec.columns import columns
from headrace.spec.cutoff import Cutoff
from headrace.spec.dataset import Dataset, Source
from headrace.spec.feature_view import FeatureLog, FeatureView
from headrace.spec.formats import Csv
from headrace.spec.label_set import LabelSet
from headrace.spec.training_set import TimeHoldout, TrainingSet

START = date(2024, 1, 1)
RUN = RunIdentity(dag="test", run_id="test", kind="manual", partition_key="x")
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)

RIDES = Dataset(
    name="rides",
    source=Source(
        prefix="rides/%Y/%m/%d/",
        format=Csv(columns=columns(driver="string", began="timestamp[us, UTC]", known_after_hours="int64", tip="int64")),
    ),
    timezone="UTC",
    start=START,
)
DRIVERS = FeatureView(
    name="drivers",
    entity=("driver",),
    log=FeatureLog(dataset="rides", rows="tests.headrace.features.rides:log", event_key=("ride",)),
    aggregates=(count("rides"), sum_of("tip", dtype="int64")),
    windows=(1, 2),
    cutoff=Cutoff(timezone="UTC", settlement=timedelta(hours=48)),
    start=START,
    owner="tests",
)
TIPPED = TrainingSet(
    name="tipped",
    labels=LabelSet(name="tips", dataset="rides", rows="tests.headrace.features.rides:labels", entity=("driver",)),
    views=(DRIVERS,),
    holdout=TimeHoldout(start=date(2024, 1, 4)),
    owner="tests",
)


def log(rides: pa.Table) -> pa.Table:
    """The log's rows, named by `FeatureLog.rows`."""
    began, known = _times(rides)
    return pa.table(
        {
            "driver": _list(rides, "driver"),
            "ride": _list(rides, "sample_id"),
            "event_time": pa.array(began, pa.timestamp("us", "UTC")),
            "available_time": pa.array(known, pa.timestamp("us", "UTC")),
            "tip": pa.array(_list(rides, "tip"), pa.int64()),
        }
    )


def labels(rides: pa.Table) -> pa.Table:
    """The labels' rows, named by `LabelSet.rows`."""
    began, known = _times(rides)
    return pa.table(
        {
            "label_id": _list(rides, "sample_id"),
            "driver": _list(rides, "driver"),
            "label_time": pa.array(began, pa.timestamp("us", "UTC")),
            "label_known_time": pa.array(known, pa.timestamp("us", "UTC")),
            "label": [tip > 0 for tip in _list(rides, "tip")],
        }
    )


def land(landing: LocalStore, day: date, *rides: tuple[str, int, int, int]) -> None:
    """One object of rides (driver, hour of day, known after so many hours, tip), in place of the day's earlier one."""
    lines = [f"{driver},{day.isoformat()}T{hour:02d}:00:00Z,{after},{tip}" for driver, hour, after, tip in rides]
    key = day.strftime("rides/%Y/%m/%d/all.csv")
    landing.delete(key)
    landing.put_new(key, "\n".join(["driver,began,known_after_hours,tip", *lines, ""]).encode())


def compact(landing: LocalStore, lake: LocalStore, *days: date) -> list[Published]:
    """Run the dataset's days."""
    done = []
    for day in days:
        plan = plan_partition(RIDES, day.isoformat(), source=landing, lake=lake)
        for group in itertools.chain(*batches(plan)):
            write_group(RIDES, plan, group, source=landing, lake=lake)
        done.append(publish_partition(RIDES, plan, RUN, lake=lake))
    return done


def _list(rides: pa.Table, name: str) -> list[object]:
    values: list[object] = rides.column(name).to_pylist()
    return values


def _times(rides: pa.Table) -> tuple[list[datetime], list[datetime]]:
    began = rides.column("began").to_pylist()
    return began, [
        at + timedelta(hours=hours) for at, hours in zip(began, rides.column("known_after_hours").to_pylist(), strict=True)
    ]
