"""A day joined in buckets is the day joined at once: the same candidate, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from headrace.features import build
from headrace.features.audit import LeakageFound, audit_candidate, audit_partition
from headrace.features.build import build_candidate, join_day
from headrace.features.build_buckets import PartsMissing, gather, join_bucket, plan_join, read_plan
from headrace.features.leakage import LeakageAudit
from headrace.features.materialise import materialise
from headrace.features.versions import scheduled_keys
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.spec.columns import columns
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TrainingSet

from tests.headrace.features import rides
from tests.headrace.features.rides import CLOCK, DRIVERS, RUN, START, TIPPED

DAY = START + timedelta(days=3)
LAST_TIP = LogJoin(
    name="last_tip",
    entity=("driver",),
    log=DRIVERS.log,
    values=columns(tip="int64"),
    timezone="UTC",
    ttl=timedelta(hours=30),
    start=START,
)
NAMES = ("ada", "bob", "eve", "kim", "lou", "mia", "ned", "oda", "pia")


def wanted(buckets: int) -> TrainingSet:
    """The rides' labels, joined to a view and to the log itself."""
    return replace(TIPPED, logs=(LAST_TIP,), buckets=buckets)


@pytest.fixture
def landed(landing: LocalStore, lake: LocalStore) -> LocalStore:
    """Four days; nine drivers, one of them with most of the rides, some only on the first day."""
    for number in range(4):
        mine = [(name, 3 + place, 1 + place % 30, place) for place, name in enumerate(NAMES[number:])]
        hot = [("ada", hour, 2, hour) for hour in range(0, 24, 2)]
        rides.land(landing, START + timedelta(days=number), *mine, *hot)
    rides.compact(landing, lake, *(START + timedelta(days=number) for number in range(4)))
    for number in range(3):
        for key in scheduled_keys(DRIVERS, START + timedelta(days=number)):
            materialise(DRIVERS, key, RUN, lake=lake, clock=CLOCK)
    return lake


@pytest.mark.parametrize("buckets", [1, 3, 8, 100])
def test_the_number_of_buckets_changes_no_byte(landed: LocalStore, buckets: int) -> None:
    """Also of more buckets than entities, joined backwards and one of them twice; the manifest, profile and all, is the same."""
    training_set = wanted(buckets)
    plan = plan_join(training_set, DAY, lake=landed)
    rows = [join_bucket(training_set, plan, bucket, lake=landed) for bucket in (0, *reversed(range(buckets)))]

    made = gather(training_set, plan, RUN, lake=landed, observe=lambda rows: {"rows": rows.num_rows})

    assert made == build_candidate(wanted(1), DAY, RUN, lake=landed, observe=lambda rows: {"rows": rows.num_rows})
    assert sum(rows[1:]) == made.counts.samples == 18
    assert buckets == 1 or max(rows) < 18


def test_all_buckets_read_what_the_plan_names(landing: LocalStore, landed: LocalStore) -> None:
    """A log that is restated between two buckets is seen by none of them, and the next plan is another."""
    training_set = wanted(2)
    plan = plan_join(training_set, DAY, lake=landed)
    before = build_candidate(training_set, DAY, RUN, lake=landed, observe=lambda _: {})
    join_bucket(training_set, plan, 0, lake=landed)
    rides.land(landing, DAY, ("ada", 1, 1, 99))
    rides.compact(landing, landed, DAY)
    join_bucket(training_set, read_plan("tipped", DAY, plan.digest, lake=landed), 1, lake=landed)

    assert gather(training_set, plan, RUN, lake=landed, observe=lambda _: {}) == before
    assert plan_join(training_set, DAY, lake=landed).digest != plan.digest


def test_parts_that_are_not_the_whole_are_refused(landed: LocalStore) -> None:
    """One bucket's part under another's name: some labels twice, others nowhere."""
    training_set = wanted(2)
    plan = plan_join(training_set, DAY, lake=landed)
    for bucket in range(2):
        join_bucket(training_set, plan, bucket, lake=landed)
    first, second = (layout.join_bucket("tipped", DAY.isoformat(), plan.digest, bucket) for bucket in range(2))
    landed.delete(second)
    landed.put_new(second, landed.get(first).data)

    with pytest.raises(PartsMissing, match="of the day's labels in"):
        gather(training_set, plan, RUN, lake=landed, observe=lambda _: {})


def test_a_plan_without_its_snapshots_is_not_made(landed: LocalStore) -> None:
    """Nothing older is taken instead."""
    landed.delete("drivers/LATEST")

    with pytest.raises(NotPublished, match="drivers: found no release"):
        plan_join(wanted(2), date(2024, 1, 4), lake=landed)


def test_the_audit_by_buckets_asks_and_finds_the_same(landed: LocalStore) -> None:
    """The same checks over as many labels, and the same figures of the shortcuts; only the sample is spread."""
    manifest = build_candidate(wanted(1), DAY, RUN, lake=landed, observe=lambda _: {})

    whole, parts = (audit_partition(wanted(buckets), manifest, lake=landed) for buckets in (1, 3))

    def seen(audit: LeakageAudit) -> list[tuple[str, str, int]]:
        return [(one.check, one.source, one.wrong) for one in audit.findings]

    assert (parts.rows, parts.naive, seen(parts)) == (whole.rows, whole.naive, seen(whole))
    assert whole.failed == ()


def test_the_audit_by_buckets_finds_a_value_from_the_future(landed: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed value in one bucket is enough."""
    honest = build.training_rows

    def leaking(*args: Any) -> pa.Table:
        rows = honest(*args)
        values = rows.column("rides_1d").to_pylist()
        return rows.set_column(rows.schema.get_field_index("rides_1d"), "rides_1d", pa.array([*values[:-1], 999], pa.int64()))

    monkeypatch.setattr(build, "training_rows", leaking)
    manifest = build_candidate(wanted(3), DAY, RUN, lake=landed, observe=lambda _: {})

    found = audit_partition(wanted(3), manifest, lake=landed)

    assert {one.check for one in found.failed} >= {"cut", "poison", "shuffle"}
    with pytest.raises(LeakageFound):
        audit_candidate(wanted(3), manifest, RUN, lake=landed)


@pytest.mark.parametrize("buckets", [1, 3])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda rows: rows.slice(1), id="a row lost"),
        pytest.param(lambda rows: rows.take([*range(17, -1, -1)]), id="backwards"),
    ],
)
def test_the_audit_misses_no_row_and_no_order(
    landed: LocalStore, monkeypatch: pytest.MonkeyPatch, buckets: int, change: Callable[[pa.Table], pa.Table]
) -> None:
    """Rows are held against the label in their own place, whatever bucket it is in."""
    honest = build.training_rows
    monkeypatch.setattr(build, "training_rows", lambda *given: change(honest(*given)))
    manifest = build_candidate(wanted(buckets), DAY, RUN, lake=landed, observe=lambda _: {})

    found = audit_partition(wanted(buckets), manifest, lake=landed)

    assert "labels" in {one.check for one in found.failed}


def test_a_log_that_works_row_by_row_is_joined_from_one_partition_at_a_time(
    landed: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no task holds a long log; one that is partitioned by event time is given to its rows function whole."""
    seen: list[int] = []

    def counting(rides_: pa.Table) -> pa.Table:
        seen.append(rides_.num_rows)
        return rides.log(rides_)

    monkeypatch.setattr(build, "rows_function", lambda dotted: counting if dotted == DRIVERS.log.rows else rides.labels)
    by_arrival = replace(LAST_TIP, log=replace(DRIVERS.log, partitions="available_time"))
    rows = [join_day(replace(wanted(2), logs=(join,)), DAY, lake=landed).rows for join in (LAST_TIP, by_arrival)]

    assert rows[0].equals(rows[1])
    assert seen == [sum(seen[1:]), *seen[1:]]
    assert len(seen) == 4
