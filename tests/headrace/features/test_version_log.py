"""Snapshots of a log partitioned by arrival, in a real lake: by increment or in full, the same bytes."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from headrace.features import version_log
from headrace.features.audit import audit_partition
from headrace.features.build import build_candidate
from headrace.features.cutoff import cutoff_instant
from headrace.features.increment import advanced
from headrace.features.materialise import Materialised, materialise
from headrace.features.needs import log_complete_at, version_log_days
from headrace.features.snapshot import compute_snapshot
from headrace.features.snapshot_check import scan_snapshot
from headrace.features.training_rows import PublishedSnapshot
from headrace.features.version_log import whole_log
from headrace.features.versions import SnapshotKey, rebuild_key, scheduled_keys, settled_key
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.manifests.gc import collect, find_garbage
from headrace.manifests.read import published, read_manifest
from headrace.manifests.run import RunIdentity
from headrace.shards.rollup import roll_up
from headrace.shards.table import read_partition
from headrace.spec.label_set import LabelSet
from headrace.spec.training_set import TimeHoldout, TrainingSet
from hypothesis import given, settings

from tests.headrace.features.publishing import publish_log
from tests.headrace.features.test_increment import DAYS, FIRST, INSTANT, VIEW, by_arrival, events, log

RUN = RunIdentity(dag="test", run_id="test", kind="manual", partition_key="x")
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
CLICKS = replace(
    VIEW,
    start=FIRST - timedelta(days=1),
    log=replace(VIEW.log, rows="tests.headrace.features.test_version_log:rows", partitions="available_time"),
)
KEYS = [key for day in DAYS[:3] for key in scheduled_keys(CLICKS, day)]


def rows(shards: pa.Table) -> pa.Table:
    """The log's rows, named by the view's declaration."""
    return shards.select(["user", "event", "event_time", "available_time", "seq", "tombstone", "retraction", "n"])


def publish(lake: LocalStore, day: date, table: pa.Table) -> None:
    """One partition of the log."""
    publish_log(lake, "events", day, table, "seq")


def make(lake: LocalStore, key: SnapshotKey) -> Materialised:
    return materialise(CLICKS, key, RUN, lake=lake, clock=CLOCK)


def daily(lake: LocalStore, whole: pa.Table) -> dict[str, str]:
    """Each version as soon as what it needs has arrived."""
    waiting, there = list(KEYS), set()
    for day, table in by_arrival(whole):
        publish(lake, day, table)
        there.add(day)
        for key in [key for key in waiting if there.issuperset(version_log_days(CLICKS, key))]:
            make(lake, key)
            waiting.remove(key)
    assert waiting == []
    return dict(published(lake, "clicks").partitions)


def backfilled(lake: LocalStore, whole: pa.Table, seed: int) -> dict[str, str]:
    """Everything there, any order; now and then a state is lost."""
    dice = random.Random(seed)
    for day, table in by_arrival(whole):
        publish(lake, day, table)
    for key in dice.sample(KEYS, len(KEYS)):
        make(lake, key)
        for info in list(lake.list(layout.states("clicks"))):
            if dice.random() < 0.2:
                lake.delete(info.key)
    return dict(published(lake, "clicks").partitions)


@given(events)
@settings(max_examples=12, deadline=None)
def test_any_way_through_a_log_gives_the_same_manifests(raw: list[Any]) -> None:
    """Day by day, or in random order with states lost; late rows, tombstones, retractions, a clock change; and the scan agrees."""
    whole = log(raw)
    with tempfile.TemporaryDirectory() as folder:
        lakes = [LocalStore(Path(folder) / name) for name in ("daily", "again", "once more")]
        wanted = daily(lakes[0], whole)

        assert [backfilled(lake, whole, seed) for seed, lake in enumerate(lakes[1:])] == [wanted, wanted]
        for key in KEYS:
            done = make(lakes[0], key)
            stored = read_partition(lakes[0], done.manifest, [*CLICKS.entity, *CLICKS.features])
            read = whole_log(lakes[0], CLICKS, done.manifest.facts["inputs"])
            assert stored.equals(compute_snapshot(read, CLICKS, key.day, key.knowledge).rows)
            one = PublishedSnapshot(version=done.version, rows=stored)
            assert scan_snapshot(CLICKS, one, read, seed="s", sample=9).wrong == 0


@pytest.fixture
def landed(lake: LocalStore) -> LocalStore:
    """A click an hour for six days, one in four a day late."""
    raw = [(("u", n, n, min(n + 24 * (n % 4 == 0), 119), "said"), 1) for n in range(120)]
    for day, table in by_arrival(log(raw)):
        publish(lake, day, table)
    return lake


def test_a_day_costs_what_arrived_since_the_last_state(landed: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partitions read are counted: three for the first version, one for the next day; the run says so."""
    read: list[str] = []
    honest = version_log.inputs_from

    def counting(store: Any, facts: Any) -> Any:
        read.extend(one["partition"] for one in facts)
        return honest(store, facts)

    monkeypatch.setattr(version_log, "inputs_from", counting)

    first, second = (make(landed, settled_key(CLICKS, day)) for day in DAYS[:2])

    assert read == ["2013-03-07", "2013-03-08", "2013-03-09", "2013-03-10"]
    assert first.how == "recomputed in full from 3 days of arrivals, because of earlier states there is none"
    assert second.how == "1 days of arrivals on top of the state of 2013-03-08.settled.20130309T110000Z (42 rows)"


def test_a_state_of_other_code_or_of_a_restated_log_is_not_used(landed: LocalStore) -> None:
    """The run says why it reads everything, and the snapshot is that of the log as it is now."""
    make(landed, settled_key(CLICKS, DAYS[0]))
    other = replace(CLICKS, windows=(1, 3))

    by_other_code = materialise(other, settled_key(other, DAYS[1]), RUN, lake=landed, clock=CLOCK)
    publish(landed, DAYS[0], by_arrival(log([(("u", 500, 3, 5, "said"), 7)]))[1][1])
    restated = make(landed, settled_key(CLICKS, DAYS[1]))

    assert by_other_code.how.endswith("because of earlier states that of 2013-03-08.settled.20130309T110000Z has another code")
    assert restated.how.endswith("because of earlier states that of 2013-03-08.settled.20130309T110000Z has another inputs")
    assert read_partition(landed, restated.manifest).column("clicks_2d").to_pylist() == [
        1 + 18 + 6 + 2
    ]  # the 8th's, the 9th's in time, late, the 10th's


def test_a_damaged_state_is_not_used(landed: LocalStore) -> None:
    """Its bytes are checked before a row is taken."""
    make(landed, settled_key(CLICKS, DAYS[0]))
    key = next(info.key for info in landed.list(layout.states("clicks")) if info.key.endswith(".parquet"))
    landed.delete(key)
    landed.put_new(key, b"something else")

    assert make(landed, settled_key(CLICKS, DAYS[1])).how.endswith("2013-03-08.settled.20130309T110000Z is damaged")


def test_a_rebuild_starts_from_a_state_too(landed: LocalStore) -> None:
    """Its knowledge time is days later; its day is not."""
    make(landed, settled_key(CLICKS, DAYS[0]))

    rebuilt = make(landed, rebuild_key(CLICKS, DAYS[0], datetime(2013, 3, 12, tzinfo=UTC)))

    assert rebuilt.how.startswith("2 days of arrivals on top of the state of 2013-03-08.settled.20130309T110000Z")
    known = whole_log(landed, CLICKS, rebuilt.manifest.facts["inputs"])
    stored = read_partition(landed, rebuilt.manifest, [*CLICKS.entity, *CLICKS.features])
    assert stored.equals(compute_snapshot(known, CLICKS, DAYS[0], rebuilt.version.key.knowledge).rows)


def clicked(shards: pa.Table) -> pa.Table:
    """A label for each click, named by the training set's declaration."""
    known = pc.add(shards.column("available_time"), pa.scalar(timedelta(hours=1)))
    return pa.table(
        {
            "label_id": shards.column("seq"),
            "user": shards.column("user"),
            "label_time": shards.column("available_time"),
            "label_known_time": known.cast(INSTANT),
            "label": pc.greater(shards.column("n"), 0),
        }
    )


CLICKED = TrainingSet(
    name="clicked",
    labels=LabelSet(name="clicks", dataset="events", rows="tests.headrace.features.test_version_log:clicked", entity=("user",)),
    views=(CLICKS,),
    holdout=TimeHoldout(start=date(2013, 3, 12)),
    owner="data-platform",
)


def test_the_audit_computes_snapshots_again_from_the_whole_log(landed: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """By scan and without any state: honest increments pass, and one that lost a row is found."""
    for key in scheduled_keys(CLICKS, DAYS[0]):
        make(landed, key)
    for key in scheduled_keys(CLICKS, DAYS[1]):
        make(landed, key)
    honest = build_candidate(CLICKED, DAYS[2], RUN, lake=landed, observe=lambda _: {})
    monkeypatch.setattr(version_log, "advanced", lambda *given: advanced(*given).slice(1))
    for key in scheduled_keys(CLICKS, DAYS[1]):
        make(landed, key)
    lossy = build_candidate(CLICKED, DAYS[2], RUN, lake=landed, observe=lambda _: {})

    assert audit_partition(CLICKED, lossy, lake=landed).failed == ()  # the join is right; the snapshot it joins is not
    found = audit_partition(CLICKED, lossy, lake=landed, from_logs=True).failed
    assert {(one.check, one.source.split()[0]) for one in found} == {("from the log", "clicks")}
    again = [one for one in audit_partition(CLICKED, honest, lake=landed, from_logs=True).findings if one.check == "from the log"]
    assert (sum(one.labels for one in again) > 0, sum(one.wrong for one in again)) == (True, 0)


def test_old_states_are_collected_and_nothing_else_is(landed: LocalStore) -> None:
    """Without a grace period they all go; the next run says that there is none."""
    make(landed, settled_key(CLICKS, DAYS[0]))

    sweep = find_garbage(landed, "clicks", grace=timedelta(0))
    assert collect(landed, sweep, grace=timedelta(0)) == 2

    assert {info.key.split("/")[1] for info in sweep.garbage} == {"states"}
    assert make(landed, settled_key(CLICKS, DAYS[1])).how.endswith("because of earlier states there is none")


def test_compaction_of_the_log_changes_no_byte(lake: LocalStore) -> None:
    """Twenty small files become the one shard of a month, and the files are gone: the same manifests are computed from it."""
    view = replace(CLICKS, start=date(2013, 2, 9))
    days = [view.start + timedelta(days=number) for number in range(20)]
    for number, day in enumerate(days):
        begins = cutoff_instant(view.cutoff, day - timedelta(days=1))
        small = log([(("u", number, 3, 5, "said"), number), (("v", number, 1, 5, "said"), 1)])
        small = small.set_column(3, "available_time", pa.array([begins, begins + timedelta(hours=7)], INSTANT))
        small = small.set_column(2, "event_time", pa.array([begins - timedelta(hours=30), begins], INSTANT))
        publish(lake, day, small.set_column(4, "seq", pa.array([2 * number, 2 * number + 1])))
    key = settled_key(view, date(2013, 2, 27))
    publish(lake, date(2013, 3, 1), log([]))
    before = materialise(view, key, RUN, lake=lake, clock=CLOCK)

    month, _ = roll_up(lake, "events", "2013-02", RUN)
    for one in before.manifest.facts["inputs"]:
        for shard in read_manifest(lake, "events", one["partition"], one["manifest"]).shards:
            lake.delete(layout.shard("events", shard.sha256))
    assert (len(month.shards), month.counts.samples) == (1, 40)
    after = materialise(view, key, RUN, lake=lake, clock=CLOCK)

    assert after.how.startswith("recomputed in full from 20 days of arrivals")
    assert after.manifest == before.manifest
    assert read_partition(lake, after.manifest).column("clicks_2d").to_pylist() == [1, 2]  # u comes thirty hours late


def test_a_month_rolled_up_before_a_day_was_restated_is_not_read(lake: LocalStore) -> None:
    """It holds other rows than the days do now."""
    view = replace(CLICKS, start=date(2013, 2, 28), windows=(30,))
    begins = cutoff_instant(view.cutoff, date(2013, 2, 27))
    publish(lake, view.start, at_instant(log([(("u", 1, 0, 0, "said"), 1)]), begins))
    publish(lake, date(2013, 3, 1), log([]))
    roll_up(lake, "events", "2013-02", RUN)
    publish(lake, view.start, at_instant(log([(("u", 1, 0, 0, "said"), 7)]), begins))

    done = materialise(view, settled_key(view, view.start), RUN, lake=lake, clock=CLOCK)

    assert read_partition(lake, done.manifest).column("n_sum_30d").to_pylist() == [7]


def at_instant(table: pa.Table, instant: datetime) -> pa.Table:
    """The rows, happening and arriving at one instant."""
    for position, name in ((2, "event_time"), (3, "available_time")):
        table = table.set_column(position, name, pa.array([instant] * table.num_rows, INSTANT))
    return table


def test_a_partition_that_has_not_arrived_is_named(lake: LocalStore) -> None:
    """Nothing is computed from what happens to be there."""
    publish(lake, DAYS[0], log([(("u", 1, 3, 5, "said"), 1)]))

    with pytest.raises(NotPublished, match="no partition 2013-03-07"):
        make(lake, settled_key(CLICKS, DAYS[0]))


def test_partitions_behind_a_version_are_those_complete_at_its_knowledge_time() -> None:
    """Six hours of settlement reach into the next date; the cutoff itself does not."""
    preliminary, settled = scheduled_keys(CLICKS, DAYS[0])

    assert version_log_days(CLICKS, preliminary) == (date(2013, 3, 7), date(2013, 3, 8))
    assert version_log_days(CLICKS, settled) == (date(2013, 3, 7), date(2013, 3, 8), date(2013, 3, 9))


def test_a_version_waits_for_the_date_that_holds_its_knowledge_time() -> None:
    """48 hours after a cutoff across a clock change it is one in the morning: that date's arrivals are there when it ends."""
    two_days = replace(CLICKS, cutoff=replace(CLICKS.cutoff, settlement=timedelta(hours=48)))
    by_event = replace(two_days, log=VIEW.log)
    key = settled_key(two_days, date(2013, 3, 8))

    assert key.knowledge == datetime(2013, 3, 11, 5, tzinfo=UTC)  # 01:00 in New York
    assert log_complete_at(two_days, key) == datetime(2013, 3, 12, 4, tzinfo=UTC)
    assert log_complete_at(by_event, key) == key.knowledge
    assert log_complete_at(two_days, settled_key(two_days, date(2013, 3, 1))) == datetime(2013, 3, 4, 5, tzinfo=UTC)
