"""How a dataset came to be, what differs, and going back."""

from __future__ import annotations

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.compare import compare
from headrace.manifests.errors import NotPublished
from headrace.manifests.history import history, named_release, rollback
from headrace.manifests.read import manifest_of, published
from headrace.shards.table import read_partition

from tests.headrace.shards.lake_building import csv_dataset, land, run

RUN = {"dag": "test"}


@pytest.fixture
def three_releases(landing: LocalStore, lake: LocalStore) -> LocalStore:
    """Day one; day two; day one again with another object."""
    ds = csv_dataset()
    land(landing, {"a.csv": b"n,name\n1,x\n"}, "2013-01-01")
    run(ds, landing, lake, "2013-01-01")
    land(landing, {"a.csv": b"n,name\n2,x\n"}, "2013-01-02")
    run(ds, landing, lake, "2013-01-02")
    land(landing, {"b.csv": b"n,name\n3,x\n4,y\n"}, "2013-01-01")
    run(ds, landing, lake, "2013-01-01")
    return lake


def test_history_says_what_each_release_changed(three_releases: LocalStore) -> None:
    """Newest first."""
    lines = [(line.release.number, line.added, line.changed, line.removed) for line in history(three_releases, "d")]

    assert lines == [(3, (), ("2013-01-01",), ()), (2, ("2013-01-02",), (), ()), (1, ("2013-01-01",), (), ())]
    assert [line.release.number for line in history(three_releases, "d", limit=2)] == [3, 2]


def test_history_ends_where_older_releases_were_collected(three_releases: LocalStore) -> None:
    """The rest is still told."""
    three_releases.delete(layout.release("d", 1))

    assert [line.release.number for line in history(three_releases, "d")] == [3, 2]


def test_going_back_is_a_new_release_with_the_old_rows(three_releases: LocalStore) -> None:
    """The pointer moves up; the digest is the old one's."""
    lake = three_releases
    back = rollback(lake, "d", 2, RUN)

    assert (back.number, back.digest) == (4, named_release(lake, "d", 2).digest)
    assert published(lake, "d") == back
    assert read_partition(lake, manifest_of(lake, back, "2013-01-01"))["n"].to_pylist() == [1]
    assert next(history(lake, "d")).run["rolled_back_to"] == 2


def test_going_back_to_what_is_in_use_makes_no_release(three_releases: LocalStore) -> None:
    """It is there already."""
    assert rollback(three_releases, "d", 3, RUN).number == 3


def test_going_back_to_nothing_or_to_half_is_refused(three_releases: LocalStore) -> None:
    """By number, and by the first shard that is gone; nothing is published."""
    lake = three_releases
    with pytest.raises(NotPublished, match="from 1 to 3"):
        rollback(lake, "d", 9, RUN)
    old = manifest_of(lake, named_release(lake, "d", 1), "2013-01-01")
    lake.delete(layout.shard("d", old.shards[0].sha256))

    with pytest.raises(NotPublished, match=old.shards[0].sha256):
        rollback(lake, "d", 1, RUN)
    assert published(lake, "d").number == 3


def test_a_comparison_names_partitions_samples_and_shards(three_releases: LocalStore) -> None:
    """Unchanged partitions are left out."""
    lake = three_releases
    (change,) = compare(lake, named_release(lake, "d", 2), named_release(lake, "d", 3))
    assert (change.partition, change.kind, change.samples_before, change.samples_after) == ("2013-01-01", "changed", 1, 3)
    assert (change.shards_kept, change.shards_new, change.shards_gone) == (0, 1, 1)

    added = compare(lake, named_release(lake, "d", 1), named_release(lake, "d", 2))
    removed = compare(lake, named_release(lake, "d", 2), named_release(lake, "d", 1))

    assert [(one.partition, one.kind) for one in (*added, *removed)] == [("2013-01-02", "added"), ("2013-01-02", "removed")]
