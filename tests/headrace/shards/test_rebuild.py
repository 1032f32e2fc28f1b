"""What was lost is made again from the shards."""

from __future__ import annotations

import random

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import manifest_of, published
from headrace.shards.errors import SampleIdRepeated, ShardDamaged
from headrace.shards.read import read_partition
from headrace.shards.rebuild import RebuildRefused, rebuild
from headrace.shards.verify import verify_partition

from tests.headrace.shards.lake_building import DAY, csv_dataset, identity, land, raw_dataset, run

UNDER = "in/2013/01/01/"
NEXT_DAY = "2013-01-02"


@pytest.fixture
def manifest(landing: LocalStore, lake: LocalStore) -> Manifest:
    """A day of four shards, one refused key, and another day beside it."""
    dice = random.Random(0)
    land(landing, {f"{n:03d}.bin": dice.randbytes(30_000) for n in range(120)} | {"_SUCCESS": b"x"})
    land(landing, {"a.bin": b"another day"}, NEXT_DAY)
    made = run(raw_dataset(), landing, lake).manifest
    run(raw_dataset(), landing, lake, NEXT_DAY)
    return made


def lose(lake: LocalStore, *prefixes: str) -> None:
    for prefix in prefixes:
        for info in list(lake.list(prefix)):
            lake.delete(info.key)


def test_a_lost_index_comes_out_under_its_old_name(lake: LocalStore, manifest: Manifest) -> None:
    """It is a function of the shards, so the manifest in use is whole again."""
    lose(lake, "d/index/")

    assert rebuild(lake, "d", DAY) == manifest

    assert list(verify_partition(lake, manifest)) == []


def test_a_damaged_index_is_written_over(lake: LocalStore, manifest: Manifest) -> None:
    """Content under its own name is right or is replaced."""
    key = layout.index("d", manifest.index[0].sha256)
    good = lake.get(key).data
    lake.delete(key)
    lake.put_new(key, good[:-1] + b"?")

    rebuild(lake, "d", DAY)

    assert lake.get(key).data == good


def test_a_manifest_is_made_from_shards_alone(lake: LocalStore, manifest: Manifest) -> None:
    """Everything but the shards is lost: the same samples in the same order and places, and what is not known said."""
    rows = read_partition(lake, manifest)
    lose(
        lake,
        *(f"d/{room}/" for room in ("index", "manifests", "releases", "inventories", "groups", "parts", "plans")),
        "d/LATEST",
    )

    again = rebuild(lake, "d", DAY, under=UNDER)

    assert (again.shards, again.index, again.schema) == (manifest.shards, manifest.index, manifest.schema)
    assert (again.counts.read, again.counts.samples, again.counts.skipped) == (120, 120, {})
    assert again.facts == {"rebuilt": {"unknown": ["declaration", "quarantined", "skipped"]}}
    release = promote(lake, "d", {DAY: write_candidate(lake, again, {})}, identity().document())
    assert release.number == 1
    assert list(verify_partition(lake, manifest_of(lake, published(lake, "d"), DAY))) == []
    assert read_partition(lake, again).equals(rows)


def test_the_next_run_makes_a_rebuilt_partition_full_again(lake: LocalStore, landing: LocalStore, manifest: Manifest) -> None:
    """With the manifest it had before, and no shard written twice."""
    lose(lake, "d/manifests/", "d/releases/", "d/groups/", "d/LATEST")
    again = rebuild(lake, "d", DAY, under=UNDER)
    promote(lake, "d", {DAY: write_candidate(lake, again, {})}, identity().document())
    written = {info.key: info.modified for info in lake.list("d/shards/")}

    assert run(raw_dataset(), landing, lake).manifest == manifest
    assert {info.key: info.modified for info in lake.list("d/shards/")} == written


def test_an_order_of_its_own_keys_is_found_again(lake: LocalStore, landing: LocalStore) -> None:
    """One object of many rows, cut into shards: the rows' numbers say which comes first, not the shards' names."""
    land(
        landing,
        {"a.csv": b"n,name\n" + b"".join(b"%d,%s\n" % (n, random.Random(n).randbytes(40).hex().encode()) for n in range(60_000))},
    )
    manifest = run(csv_dataset(shard_bytes=1_000_000, row_group_bytes=100_000), landing, lake).manifest
    assert len(manifest.shards) > 2

    assert rebuild(lake, "d", DAY, under=UNDER).shards == manifest.shards


def test_old_and_new_states_of_an_object_are_not_mixed(lake: LocalStore, landing: LocalStore, manifest: Manifest) -> None:
    """Which is the right one is not guessed; whoever knows names the shards."""
    land(landing, {"000.bin": b"corrected"})
    newer = run(raw_dataset(), landing, lake).manifest

    with pytest.raises(SampleIdRepeated):
        rebuild(lake, "d", DAY, under=UNDER)

    assert rebuild(lake, "d", DAY, shards=[shard.sha256 for shard in newer.shards]).index == newer.index
    assert rebuild(lake, "d", DAY, shards=[shard.sha256 for shard in manifest.shards]).index == manifest.index


def test_shards_of_other_columns_are_refused(lake: LocalStore, landing: LocalStore, manifest: Manifest) -> None:
    """Naming both."""
    land(landing, {"a.csv": b"n,name\n1,x\n"}, "2013-01-03")
    other = run(csv_dataset(), landing, lake, "2013-01-03").manifest

    with pytest.raises(RebuildRefused, match=r"n int64.*payload large_binary|payload large_binary.*n int64"):
        rebuild(lake, "d", DAY, shards=[manifest.shards[0].sha256, other.shards[0].sha256])


def test_a_damaged_shard_is_named_and_nothing_made_of_it(lake: LocalStore, manifest: Manifest) -> None:
    """A flipped byte inside a page of samples, and a file cut short."""
    key = layout.shard("d", manifest.shards[1].sha256)
    good = lake.get(key).data
    for bad in (good[:500_000] + bytes([good[500_000] ^ 1]) + good[500_001:], good[:500_000]):
        lake.delete(key)
        lake.put_new(key, bad)
        with pytest.raises(ShardDamaged, match=manifest.shards[1].sha256):
            rebuild(lake, "d", DAY, under=UNDER)


def test_nobody_is_asked_twice(lake: LocalStore, manifest: Manifest) -> None:
    """Without a manifest the shards must be named; a prefix without shards and a shard that is gone are said."""
    lose(lake, f"d/manifests/{DAY}/")

    with pytest.raises(RebuildRefused, match="--under"):
        rebuild(lake, "d", DAY)
    with pytest.raises(RebuildRefused, match="in/1999/"):
        rebuild(lake, "d", DAY, under="in/1999/")
    with pytest.raises(ShardDamaged, match="00ff"):
        rebuild(lake, "d", DAY, shards=["00ff", manifest.shards[0].sha256])
