"""What nothing can reach goes; everything else stays."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.lake.store import ObjectInfo
from headrace.manifests import gc
from headrace.manifests.collecting import announced
from headrace.manifests.errors import CollectionUnderWay, DataGone, DocumentRefused, NotPublished
from headrace.manifests.gc import Sweep, collect, find_garbage
from headrace.manifests.history import rollback
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, publish, write_candidate
from headrace.manifests.read import manifest_of, published
from headrace.manifests.tags import tag_release
from headrace.shards.compact import plan_partition
from headrace.shards.group import write_groups
from headrace.shards.table import read_partition, write_table
from headrace.shards.verify import verify_partition

from tests.headrace.shards.lake_building import DAY, identity, land, raw_dataset, run

NONE = timedelta(0)
RUN = {"dag": "test"}


def age(lake: LocalStore, hours: float = 24 * 30) -> None:
    """Make everything in the lake look older."""
    for info in list(lake.list()):
        if "/gc/" in info.key:
            continue  # a collection beside us may remove it at any time
        path = Path(lake.uri.removeprefix("file://")) / info.key
        with contextlib.suppress(FileNotFoundError):  # nor what a collection beside us has removed
            when = path.stat().st_mtime - hours * 3600
            os.utime(path, (when, when))


def objects(seed: int) -> dict[str, bytes]:
    dice = random.Random(seed)
    return {f"{n:03d}.bin": dice.randbytes(50_000) for n in range(40)}


def names(lake: LocalStore) -> set[str]:
    return {info.key for info in find_garbage(lake, "d").garbage}


def whole(lake: LocalStore) -> bool:
    release = published(lake, "d")
    return all(not list(verify_partition(lake, manifest_of(lake, release, name))) for name in release.partitions)


@pytest.fixture
def two_releases(landing: LocalStore, lake: LocalStore) -> LocalStore:
    """A day published, then published again with other objects, all long ago."""
    for seed in (1, 2):
        land(landing, objects(seed))
        run(raw_dataset(), landing, lake)
    age(lake)
    return lake


def test_all_releases_stay_by_default(two_releases: LocalStore) -> None:
    """Only plans go: nothing runs any more."""
    assert {key.split("/")[1] for key in names(two_releases)} == {"plans"}


def test_releases_beyond_the_kept_ones_go_with_their_shards(two_releases: LocalStore) -> None:
    """And the newest is whole."""
    lake = two_releases
    sweep = find_garbage(lake, "d", keep_releases=1)

    assert {key.key.split("/")[1] for key in sweep.garbage} == {
        "shards", "index", "manifests", "releases", "inventories", "groups", "parts", "plans",
    }  # fmt: skip
    assert collect(lake, sweep, keep_releases=1) == len(sweep.garbage)
    assert find_garbage(lake, "d", keep_releases=1).garbage == ()
    assert whole(lake)


def test_what_is_kept_is_still_reused(two_releases: LocalStore, landing: LocalStore) -> None:
    """The group results of kept shards stay."""
    lake = two_releases
    collect(lake, find_garbage(lake, "d", keep_releases=1), keep_releases=1)
    land(landing, {"999.bin": b"new"})

    plan = plan_partition(raw_dataset(), DAY, source=landing, lake=lake)

    assert len(plan.done) == len(plan.groups) - 1


def test_a_tagged_release_stays(two_releases: LocalStore) -> None:
    """Whatever the number of kept ones."""
    lake = two_releases
    release = tag_release(lake, "d", "golden", 1)
    age(lake)

    collect(lake, find_garbage(lake, "d", keep_releases=1), keep_releases=1)

    assert rollback(lake, "d", 1, RUN).partitions == release.partitions
    assert whole(lake)


def test_the_young_stay_whatever_they_are(landing: LocalStore, lake: LocalStore) -> None:
    """A running publication has written shards that no manifest names yet."""
    land(landing, objects(1))
    run(raw_dataset(), landing, lake)
    lake.put_new("d/shards/" + "0" * 64 + ".parquet", b"just written")

    assert names(lake) == set()


def test_what_a_failed_publication_left_is_listed_and_removed(two_releases: LocalStore, landing: LocalStore) -> None:
    """Its shards and their index were written, and no manifest ever named them; what is live is spared."""
    lake = two_releases
    live = {info.key for info in lake.list("d/shards/")}
    land(landing, objects(3))
    dataset = raw_dataset()
    plan = plan_partition(dataset, DAY, source=landing, lake=lake)
    list(write_groups(dataset, plan, range(len(plan.groups)), source=landing, lake=lake))
    orphans = {info.key for info in lake.list("d/shards/")} - live
    age(lake)

    sweep = find_garbage(lake, "d")
    collect(lake, sweep)

    assert orphans
    assert {key for key in (item.key for item in sweep.garbage) if "/shards/" in key} == orphans
    assert {info.key for info in lake.list("d/shards/")} == live
    assert whole(lake)


def test_old_shards_of_a_young_plan_stay(two_releases: LocalStore, landing: LocalStore) -> None:
    """A run counts on groups that no release names any more."""
    lake = two_releases
    publish(lake, "d", lambda _: {}, RUN)
    age(lake)
    plan = plan_partition(raw_dataset(), DAY, source=landing, lake=lake)
    assert plan.done == tuple(range(len(plan.groups)))
    assert whole(lake)

    collect(lake, find_garbage(lake, "d", keep_releases=1), keep_releases=1)

    assert plan_partition(raw_dataset(), DAY, source=landing, lake=lake).done == plan.done
    age(lake)
    collect(lake, find_garbage(lake, "d", keep_releases=1), keep_releases=1)
    assert plan_partition(raw_dataset(), DAY, source=landing, lake=lake).done == ()


def test_a_candidate_that_waits_keeps_its_shards(two_releases: LocalStore) -> None:
    """A young manifest may still be approved, however old the shards it names."""
    lake = two_releases
    old = manifest_of(lake, rollback_target(lake), DAY)
    write_candidate(lake, Manifest(**{**old.__dict__, "partition": "2013-01-02"}), RUN)

    collect(lake, find_garbage(lake, "d", keep_releases=1), keep_releases=1)

    assert read_partition(lake, old).num_rows == 40


def rollback_target(lake: LocalStore) -> object:  # the first release
    from headrace.manifests.history import named_release

    return named_release(lake, "d", 1)


def test_unknown_keys_are_never_touched(two_releases: LocalStore) -> None:
    """Somebody's notes beside the data, and other datasets."""
    lake = two_releases
    for key in ("d/notes/readme.txt", "d2/shards/x", "other"):
        lake.put_new(key, b"mine")
    age(lake)

    assert not any(key.startswith(("d/notes", "d2", "other")) for key in names(lake))


def test_nothing_is_decided_when_a_kept_manifest_cannot_be_read(two_releases: LocalStore) -> None:
    """What it names is not known, so nothing may go."""
    lake = two_releases
    digest = published(lake, "d").partitions[DAY]
    key = f"d/manifests/{DAY}/{digest}.json"
    lake.delete(key)
    lake.put_new(key, b"{}")

    with pytest.raises(DocumentRefused):
        find_garbage(lake, "d")


def test_what_was_published_between_the_two_looks_stays(two_releases: LocalStore) -> None:
    """The second look saves it."""
    lake = two_releases
    sweep = find_garbage(lake, "d", keep_releases=1)
    rollback(lake, "d", 1, RUN)

    collect(lake, sweep, keep_releases=1)

    assert whole(lake)


def test_gc_beside_running_publications_breaks_none(landing: LocalStore, lake: LocalStore) -> None:
    """Ten publications while gc runs over and over with the shortest safe grace: each release is whole."""
    done = threading.Event()
    removed = 0

    def sweep() -> None:
        nonlocal removed
        while not done.is_set():
            found = find_garbage(lake, "d", grace=timedelta(hours=1), keep_releases=1)
            removed += collect(lake, found, grace=timedelta(hours=1), keep_releases=1)

    thread = threading.Thread(target=sweep)
    thread.start()
    try:
        for seed in range(10):
            land(landing, {f"{n:03d}.bin": random.Random(seed * n).randbytes(30_000) for n in range(20)})
            run(raw_dataset(), landing, lake)
            age(lake, 0.5)
            assert whole(lake)
        deadline = time.monotonic() + 60
        while removed == 0 and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        done.set()
        thread.join()
    assert removed > 0


class Computed:
    """A writer of computed rows, whose shards stand under their content: made again, they are found where they are."""

    def __init__(self, lake: LocalStore) -> None:
        self.lake = lake
        rows = pa.table({"n": list(range(1000))})
        written = write_table(lake, "d", rows, key=("n",), computed_from="log")
        counts = Counts(listed=0, read=0, skipped={}, quarantined={}, samples=1000)
        self.manifest = Manifest(
            dataset="d",
            partition=DAY,
            shards=written.uploaded.shards,
            index=written.uploaded.index,
            schema=written.schema,
            counts=counts,
            inventory_digest="x",
            declaration_digest="y",
        )

    def publish(self) -> None:
        promote(self.lake, "d", {DAY: write_candidate(self.lake, self.manifest, RUN)}, RUN)


@pytest.fixture
def orphans(lake: LocalStore) -> LocalStore:
    """Shard and index of a writer that was killed long ago, reachable by nothing; another day is published."""
    Computed(lake)
    promote(
        lake,
        "d",
        {"2013-01-09": write_candidate(lake, replace(Computed(lake).manifest, partition="2013-01-09", shards=(), index=()), RUN)},
        RUN,
    )
    age(lake)
    assert {key.split("/")[1] for key in names(lake)} == {"shards", "index"}
    return lake


def test_a_writer_before_the_last_look_keeps_what_it_found(orphans: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to try again, and loses nothing."""
    sweep, writer = find_garbage(orphans, "d"), Computed(orphans)
    look = gc.find_garbage

    def look_late(*arguments: Any, **options: Any) -> Sweep:
        with pytest.raises(CollectionUnderWay, match="needs, such as d/index/"):
            writer.publish()
        return look(*arguments, **options)

    monkeypatch.setattr(gc, "find_garbage", look_late)

    assert collect(orphans, sweep) == 0
    writer.publish()
    assert whole(orphans)


def test_a_writer_after_the_last_look_is_told_to_try_again(orphans: LocalStore) -> None:
    """It publishes nothing that is being removed; made again, it is whole."""
    sweep, writer, told = find_garbage(orphans, "d"), Computed(orphans), []

    def beside(_: ObjectInfo) -> None:
        with pytest.raises(CollectionUnderWay):
            writer.publish()
        told.append(True)

    assert collect(orphans, sweep, on_removed=beside) == len(told) == 2
    with pytest.raises(DataGone, match="2 of its 2 objects"):
        writer.publish()
    Computed(orphans).publish()
    assert whole(orphans)


def test_a_rollback_beside_a_collection_waits_too(two_releases: LocalStore) -> None:
    """The old release's shards are on the list."""
    lake = two_releases

    def beside(_: ObjectInfo) -> None:
        with pytest.raises((CollectionUnderWay, NotPublished)):
            rollback(lake, "d", 1, RUN)

    collect(lake, find_garbage(lake, "d", keep_releases=1), keep_releases=1, on_removed=beside)

    assert whole(lake)


def test_an_old_manifest_that_is_needed_again_is_young_again(orphans: LocalStore) -> None:
    """A day that went back to an earlier state: its manifest lay there long enough to be removed."""
    writer = Computed(orphans)
    digest = write_candidate(orphans, writer.manifest, RUN)
    age(orphans)

    assert write_candidate(orphans, writer.manifest, {"dag": "another"}) == digest

    assert names(orphans) == set()


def test_the_list_of_a_killed_collection_blocks_for_a_day_at_most(orphans: LocalStore) -> None:
    """The next collection removes it."""
    sweep, writer = find_garbage(orphans, "d"), Computed(orphans)
    with pytest.raises(KeyboardInterrupt):
        collect(orphans, sweep, on_removed=interrupted)
    assert list(orphans.list("d/gc/")) == []
    now = datetime.now(UTC)
    killed = announced(orphans, "d", [info.key for info in sweep.garbage], now=now)
    killed.__enter__()  # and nobody leaves the block
    Computed(orphans)
    with pytest.raises(CollectionUnderWay, match="if it was killed, delete file:"):
        writer.publish()

    with announced(orphans, "d", [], now=now + timedelta(hours=25)):
        writer.publish()

    assert whole(orphans)


def interrupted(_: ObjectInfo) -> None:
    raise KeyboardInterrupt


def test_promoting_an_empty_manifest_is_swept_like_any_other(lake: LocalStore) -> None:
    """No shards, no inventory: nothing to trip over."""
    counts = Counts(listed=0, read=0, skipped={}, quarantined={}, samples=0)
    manifest = Manifest(
        dataset="d", partition=DAY, shards=(), index=(), schema=(), counts=counts, inventory_digest="x", declaration_digest="y"
    )
    promote(lake, "d", {DAY: write_candidate(lake, manifest, identity().document())}, RUN)
    age(lake)

    assert names(lake) == set()
