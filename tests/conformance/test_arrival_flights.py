"""The real landings of two weeks, by the date of the flight and by the date of arrival: the same features, over the clock change."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from headrace.features.cutoff import day_interval
from headrace.features.materialise import materialise
from headrace.features.needs import dates_of, log_complete_at
from headrace.features.snapshot import compute_snapshot
from headrace.features.versions import scheduled_keys
from headrace.lake.local import LocalStore
from headrace.manifests.read import published
from headrace.manifests.run import RunIdentity
from headrace.shards.table import read_partition

from bench.flights_leak import flights
from include.datasets.flights import CARRIER_DELAYS
from include.datasets.functions.flights import landings
from tests.headrace.features.publishing import publish_log

FIRST = date(2013, 3, 4)
DAYS = [FIRST + timedelta(days=number) for number in range(12)]
RUN = RunIdentity(dag="test", run_id="test", kind="manual", partition_key="x")
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
BY_ARRIVAL = replace(
    CARRIER_DELAYS,
    start=FIRST,
    windows=(1, 3),
    log=replace(
        CARRIER_DELAYS.log,
        dataset="landings",
        rows="tests.conformance.test_arrival_flights:rows",
        partitions="available_time",
    ),
)


def rows(shards: pa.Table) -> pa.Table:
    """The log's rows, named by the view's declaration."""
    return shards.select(["carrier", "flight_id", "event_time", "available_time", "arr_delay", "late"])


def land(lake: LocalStore, log: pa.Table, day: date) -> None:
    """What landed on one local date of New York, as a partition."""
    interval = day_interval(dates_of(BY_ARRIVAL), day)
    at = log.column("available_time")
    begins, ends = (pa.scalar(instant, at.type) for instant in (interval.start, interval.end))
    table = log.filter(pc.and_(pc.greater_equal(at, begins), pc.less(at, ends)))
    publish_log(lake, "landings", day, table, "flight_id")


@pytest.fixture(scope="module")
def log() -> pa.Table:
    """Everything that landed from the first date on, and was to leave on it or later."""
    year = flights()
    month = year.filter(pa.array(np.asarray(year.column("month")) == FIRST.month))
    begins = pa.scalar(day_interval(dates_of(BY_ARRIVAL), FIRST).start, pa.timestamp("us", "UTC"))
    table = landings(month)
    return table.filter(pc.greater_equal(table.column("event_time"), begins))


def test_both_layouts_of_the_log_give_the_same_features(log: pa.Table, tmp_path: Path) -> None:
    """Preliminary and settled, 12 days, in order and shuffled. An arrival on the very midnight is known one date later, and only that."""
    keys = [key for day in DAYS[:-2] for key in scheduled_keys(BY_ARRIVAL, day)]
    made = []
    for seed in (0, 1):
        lake = LocalStore(tmp_path / str(seed))
        for day in [*DAYS, DAYS[-1] + timedelta(days=1)]:
            land(lake, log, day)
        order = keys if seed == 0 else random.Random(seed).sample(keys, len(keys))
        for key in order:
            done = materialise(BY_ARRIVAL, key, RUN, lake=lake, clock=CLOCK)
            stored = read_partition(lake, done.manifest, ["carrier", *BY_ARRIVAL.features])
            at = log.column("available_time")
            at_midnight = log_complete_at(BY_ARRIVAL, key) == key.knowledge
            known = log.filter(pc.not_equal(at, pa.scalar(key.knowledge, at.type))) if at_midnight else log
            assert stored.equals(compute_snapshot(known, BY_ARRIVAL, key.day, key.knowledge).rows), str(key)
        made.append(published(lake, "carrier_delays").partitions)

    assert made[0] == made[1]
    assert len(made[0]) == 20
