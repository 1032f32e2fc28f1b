"""Cost grows with what changed: unchanged bytes are neither read nor written again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore
from headrace.lake.store import Store
from headrace.shards.compact import plan_partition
from headrace.shards.table import read_partition
from headrace.sources.errors import TooMuchQuarantined
from headrace.sources.quarantine import records

from tests.headrace.shards.lake_building import DAY, csv_dataset, land, raw_dataset, run


class Counting(LocalStore):
    """Notes the keys that are written as files and the source bytes that are read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.put: list[str] = []
        self.read = 0

    def put_file(self, key: str, path: Path) -> None:
        self.put.append(key)
        super().put_file(key, path)

    def get_many(self, wanted: object) -> object:  # type: ignore[override] # passes through
        for answer in super().get_many(wanted):  # type: ignore[arg-type] # as above
            self.read += answer.wanted.size_bytes
            yield answer


@pytest.fixture
def stores(tmp_path: Path) -> tuple[Counting, Counting]:
    return Counting(tmp_path / "landing"), Counting(tmp_path / "lake")


def objects(seed: int = 0) -> dict[str, bytes]:
    dice = random.Random(seed)
    return {f"{n:04d}.bin": dice.randbytes(20_000) for n in range(400)}


def shards_put(lake: Counting) -> int:
    return sum("/shards/" in key for key in lake.put)


def test_nothing_changed_moves_no_data(stores: tuple[Counting, Counting]) -> None:
    """Not a byte read, not a byte written."""
    landing, lake = stores
    land(landing, objects())
    first = run(raw_dataset(), landing, lake)
    landing.read, lake.put = 0, []

    assert run(raw_dataset(), landing, lake) == first
    assert (landing.read, lake.put) == (0, [])


@pytest.mark.parametrize("room", ["shards", "index"])
@pytest.mark.parametrize("damage", ["deleted", "cut short"])
def test_what_the_release_in_use_has_lost_is_written_again(stores: tuple[Counting, Counting], room: str, damage: str) -> None:
    """Though nothing changed at the source: the same bytes under the same name, the release as it was, one shard's objects read."""
    landing, lake = stores
    land(landing, objects())
    first = run(raw_dataset(), landing, lake)
    victim = next(lake.list(f"d/{room}/"))
    whole = lake.get(victim.key).data
    lake.delete(victim.key)
    if damage == "cut short":
        lake.put_new(victim.key, whole[:100])
    landing.read, lake.put = 0, []

    assert run(raw_dataset(), landing, lake) == first
    assert lake.get(victim.key).data == whole
    assert shards_put(lake) == (1 if room == "shards" else 0)
    assert landing.read < 1_300_000 if room == "shards" else landing.read == 0


def test_one_object_changed_writes_one_shard(stores: tuple[Counting, Counting]) -> None:
    """And reads that shard's objects only."""
    landing, lake = stores
    land(landing, objects())
    first = run(raw_dataset(), landing, lake)
    landing.read, lake.put = 0, []
    land(landing, {"0123.bin": b"x" * 20_000})

    second = run(raw_dataset(), landing, lake)

    assert shards_put(lake) == 1
    assert landing.read <= 1_100_000
    assert len({shard.sha256 for shard in second.manifest.shards} - {shard.sha256 for shard in first.manifest.shards}) == 1
    assert (
        dict(zip(*(read_partition(lake, second.manifest)[name].to_pylist() for name in ("source_key", "payload")), strict=True))[
            f"in/{DAY.replace('-', '/')}/0123.bin"
        ]
        == b"x" * 20_000
    )


def test_reuse_gives_what_a_fresh_lake_gives(stores: tuple[Counting, Counting], tmp_path: Path) -> None:
    """A partition is a function of what was seen, not of the way there."""
    landing, lake = stores
    land(landing, objects())
    run(raw_dataset(), landing, lake)
    land(landing, {"0123.bin": b"x" * 35_000, "0200a.bin": b"new"})
    landing.delete(f"in/{DAY.replace('-', '/')}/0321.bin")

    incremental = run(raw_dataset(), landing, lake)

    assert run(raw_dataset(), landing, LocalStore(tmp_path / "fresh")).manifest == incremental.manifest


def test_a_change_and_its_undoing_need_no_write(stores: tuple[Counting, Counting]) -> None:
    """The groups of the first state are still there."""
    landing, lake = stores
    land(landing, {name: data for name, data in objects().items() if name < "0300"})
    first = run(raw_dataset(), landing, lake)
    land(landing, {"0400.bin": b"x" * 20_000})
    run(raw_dataset(), landing, lake)
    landing.delete(f"in/{DAY.replace('-', '/')}/0400.bin")
    lake.put = []

    assert run(raw_dataset(), landing, lake).manifest == first.manifest
    assert shards_put(lake) == 0


def test_a_reused_shard_that_is_gone_is_written_again(stores: tuple[Counting, Counting]) -> None:
    """The plan looks before it counts on it."""
    landing, lake = stores
    land(landing, objects())
    first = run(raw_dataset(), landing, lake)
    land(landing, {"9999.bin": b"x"})
    lost = first.manifest.shards[0].sha256
    lake.delete(f"d/shards/{lost}.parquet")

    plan = plan_partition(raw_dataset(), DAY, source=landing, lake=lake)

    assert 0 not in plan.done
    assert run(raw_dataset(), landing, lake).manifest.shards[0].sha256 == lost


def test_a_changed_rule_shares_no_group(stores: tuple[Counting, Counting]) -> None:
    """A parameter that shapes the bytes is part of a group's name."""
    landing, lake = stores
    land(landing, objects())
    run(raw_dataset(), landing, lake)

    plan = plan_partition(raw_dataset(row_group_bytes=300_000), DAY, source=landing, lake=lake)

    assert plan.done == ()


def test_a_mended_object_is_read_and_its_neighbours_are_kept(landing: Store, lake: Store) -> None:
    """Quarantine, mend, land again, run: in the release."""
    ds = csv_dataset(max_quarantine_share=0.5)
    land(landing, {"a.csv": b"n,name\n1,x\n", "b.csv": b"n,name\nbad,x\n"})
    first = run(ds, landing, lake)
    assert (first.manifest.counts.read, first.manifest.counts.quarantined) == (1, {"wrong type": 1})
    (record,) = records(lake, "d", DAY)
    land(landing, {"b.csv": b"n,name\n2,x\n"})

    second = run(ds, landing, lake)

    assert read_partition(lake, second.manifest)["n"].to_pylist() == [1, 2]
    assert second.manifest.counts.quarantined == {}
    assert lake.get(f"d/quarantine/{DAY}/{record.name}.bytes").data == b"n,name\nbad,x\n"


def test_a_run_that_refused_too_much_keeps_what_it_refused(landing: Store, lake: Store) -> None:
    """Nothing is published, and the objects can be looked at."""
    land(landing, {"a.csv": b"n,name\nbad,x\n"})

    with pytest.raises(TooMuchQuarantined):
        run(csv_dataset(), landing, lake)

    assert [record.found for record in records(lake, "d", DAY)] == ["'bad'"]


def test_an_object_that_came_back_as_it_was_is_read_again(landing: LocalStore, lake: LocalStore) -> None:
    """It vanished during one run; that run's result is no result for the next listing."""
    from headrace.shards.compact import publish_partition
    from headrace.shards.group import write_group

    from tests.headrace.shards.lake_building import identity

    class Vanishing(LocalStore):
        def get_many(self, wanted: object) -> object:  # type: ignore[override] # passes through
            for answer in super().get_many(wanted):  # type: ignore[arg-type] # as above
                yield answer if not answer.wanted.key.endswith("a.csv") else type(answer)(wanted=answer.wanted, body=_missing())

        def head(self, key: str) -> object:  # type: ignore[override] # passes through
            return super().head(key)

    def _missing() -> object:
        from headrace.lake.errors import ObjectMissing

        return ObjectMissing("a.csv", found="no object", expected="an object", remedy="")

    ds = csv_dataset(max_quarantine_share=0.9)
    land(landing, {"a.csv": b"n,name\n1,x\n", "b.csv": b"n,name\n2,x\n"})
    blind = Vanishing(landing._root)
    plan = plan_partition(ds, DAY, source=blind, lake=lake)
    write_group(ds, plan, 0, source=blind, lake=lake)
    first = publish_partition(ds, plan, identity(), lake=lake)
    assert first.manifest.counts.quarantined == {"vanished": 1}

    second = run(ds, landing, lake)

    assert read_partition(lake, second.manifest)["n"].to_pylist() == [1, 2]
