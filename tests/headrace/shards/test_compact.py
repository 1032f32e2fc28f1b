"""One partition from objects to release: nothing lost, nothing twice, the same bytes every time."""

from __future__ import annotations

import itertools
from datetime import date

import pyarrow as pa
import pytest
from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import published
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import Published, plan_partition, publish_partition
from headrace.shards.errors import SampleIdRepeated, ShardDamaged
from headrace.shards.group import write_group
from headrace.shards.plan import Group, Measured, Plan, batches
from headrace.shards.table import read_partition
from headrace.sources.errors import NothingLanded, TooMuchQuarantined
from headrace.sources.quarantine import records
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv, Format, RawBytes
from hypothesis import given, settings
from hypothesis import strategies as st

RUN = RunIdentity(dag="d.compact", run_id="r", kind="manual", partition_key="2013-01-01")
DAY = "2013-01-01"


def dataset(form: Format | None = None, **kwargs: object) -> Dataset:
    form = Csv(columns=columns(("NA",), n="int64", name="string")) if form is None else form
    return Dataset(name="d", source=Source(prefix="in/%Y/%m/%d/", format=form), timezone="UTC", start=date(2013, 1, 1), **kwargs)  # type: ignore[arg-type] # test shorthand


def land(landing: LocalStore, objects: dict[str, bytes]) -> None:
    for name, data in objects.items():
        landing.put_new(f"in/2013/01/01/{name}", data)


def run(ds: Dataset, landing: LocalStore, lake: LocalStore) -> Published:
    plan = plan_partition(ds, DAY, source=landing, lake=lake)
    for group in itertools.chain(*batches(plan)):
        write_group(ds, plan, group, source=landing, lake=lake)
    return publish_partition(ds, plan, RUN, lake=lake)


def rows(lake: LocalStore, manifest: Manifest) -> pa.Table:
    return read_partition(lake, manifest)


def test_rows_arrive_in_order_with_their_source(landing: LocalStore, lake: LocalStore) -> None:
    """Objects in key order, rows in file order, text kept as text, declared nulls null."""
    land(landing, {"b.csv": b"n,name\n3,NA\n", "a.csv": b"n,name\n1,00123\nNA,x\n"})

    done = run(dataset(), landing, lake)

    table = rows(lake, done.manifest)
    assert table.select(["source_key", "source_row", "n", "name"]).to_pylist() == [
        {"source_key": "in/2013/01/01/a.csv", "source_row": 0, "n": 1, "name": "00123"},
        {"source_key": "in/2013/01/01/a.csv", "source_row": 1, "n": None, "name": "x"},
        {"source_key": "in/2013/01/01/b.csv", "source_row": 0, "n": 3, "name": "NA"},
    ]
    assert len(set(table["sample_id"].to_pylist())) == 3
    assert (done.manifest.counts.listed, done.manifest.counts.read, done.manifest.counts.samples) == (2, 2, 3)


def test_running_again_changes_nothing(landing: LocalStore, lake: LocalStore) -> None:
    """The same objects: no batch to write, the same manifest, no new release."""
    land(landing, {"a.csv": b"n,name\n1,x\n"})
    first = run(dataset(), landing, lake)

    plan = plan_partition(dataset(), DAY, source=landing, lake=lake)

    assert batches(plan) == []
    assert publish_partition(dataset(), plan, RUN, lake=lake) == first


def test_a_new_lake_gets_the_same_bytes(landing: LocalStore, lake: LocalStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A partition is a function of the objects and the declaration."""
    land(landing, {f"{n}.csv": b"n,name\n%d,x\n" % n for n in range(9)})
    other = LocalStore(tmp_path_factory.mktemp("other"))

    assert run(dataset(), landing, lake).manifest == run(dataset(), landing, other).manifest


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 400_000), min_size=1, max_size=30),
    tasks=st.integers(1, 5),
    order=st.randoms(use_true_random=False),
)
def test_shards_partition_the_samples_however_the_work_is_dealt(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], tasks: int, order: object
) -> None:
    """Law 1 and 2: any number of tasks in any order, every object in exactly one shard, bytes unchanged."""
    landing, lake, again = (LocalStore(tmp_path_factory.mktemp(name)) for name in ("landing", "lake", "again"))
    objects = {f"{n:03d}.bin": bytes([n % 251]) * size for n, size in enumerate(sizes)}
    land(landing, objects)
    ds = dataset(RawBytes(), shard_bytes=1_000_000, row_group_bytes=200_000, may_be_empty=True)

    plan = plan_partition(ds, DAY, source=landing, lake=lake)
    groups = list(range(len(plan.groups)))
    order.shuffle(groups)  # type: ignore[attr-defined]
    for group in groups:
        write_group(ds, plan, group, source=landing, lake=lake)
    done = publish_partition(ds, plan, RUN, lake=lake)

    kept = {f"in/2013/01/01/{name}": data for name, data in objects.items() if data}
    table = rows(lake, done.manifest)
    assert dict(zip(table["source_key"].to_pylist(), table["payload"].to_pylist(), strict=True)) == kept
    assert sum(done.manifest.counts.skipped.values()) == len(objects) - len(kept)
    assert run(ds, landing, again).manifest == done.manifest


def test_an_oversized_sample_has_its_own_shard(landing: LocalStore, lake: LocalStore) -> None:
    """Its neighbours do not share it, and the order stays."""
    land(landing, {"a": b"a" * 10, "b": b"b" * 3_000_000, "c": b"c" * 10})
    ds = dataset(RawBytes(), shard_bytes=1_000_000, row_group_bytes=200_000)

    done = run(ds, landing, lake)

    assert [shard.rows for shard in done.manifest.shards] == [1, 1, 1]
    assert [len(data) for data in rows(lake, done.manifest)["payload"].to_pylist()] == [10, 3_000_000, 10]


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (b"n,name\n1,x,y\n", "unreadable CSV", "Expected 2 columns"),
        (b"n,n\n1,2\n", "repeated column", "n"),
        (b"n\n1\n", "missing column", "name"),
        (b"n,name,extra\n1,x,y\n", "undeclared column", "extra"),
        (b"n,name\n1,x\n1.5,x\n", "wrong type", "'1.5'"),
        (b"n,name\n99999999999999999999,x\n", "wrong type", "99999999999999999999"),
        (b"n,name\n1,\xff\n", "unreadable CSV", "utf-8"),
        (b"\n\n", "missing column", "n, name"),
    ],
)
def test_an_object_that_is_not_as_declared_is_quarantined(
    landing: LocalStore, lake: LocalStore, data: bytes, kind: str, says: str
) -> None:
    """The others go on; the record names the object, what was found and what was expected."""
    land(landing, {"bad.csv": data, "good.csv": b"n,name\n1,x\n"})

    done = run(dataset(max_quarantine_share=0.5), landing, lake)

    assert done.manifest.counts.quarantined == {kind: 1}
    assert done.manifest.counts.samples == 1
    (record,) = records(lake, "d", DAY)
    assert record.key.endswith("bad.csv")
    assert says in record.found + record.expected
    assert lake.get(f"d/quarantine/{DAY}/{record.name}.bytes").data == data


def test_too_much_quarantine_publishes_nothing(landing: LocalStore, lake: LocalStore) -> None:
    """The error names the first object, and there is no release."""
    land(landing, {"bad.csv": b"n,name\nx,x\n", "good.csv": b"n,name\n1,x\n"})

    with pytest.raises(TooMuchQuarantined, match=r"1 of 2 objects refused.*bad.csv row 0 column n"):
        run(dataset(), landing, lake)
    with pytest.raises(HeadraceError, match="no release"):
        published(lake, "d")


def test_a_declared_key_that_repeats_is_refused(landing: LocalStore, lake: LocalStore) -> None:
    """Never `last wins`."""
    land(landing, {"a.csv": b"n,name\n1,x\n2,y\n", "b.csv": b"n,name\n1,z\n"})

    with pytest.raises(SampleIdRepeated, match="1 sample IDs more than once"):
        run(dataset(key=("n",)), landing, lake)


def test_an_object_that_changes_after_the_listing_is_read_as_it_is_now(landing: LocalStore, lake: LocalStore) -> None:
    """Never mixed: the manifest is a function of the object that was read."""
    land(landing, {"a.csv": b"n,name\n1,x\n"})
    plan = plan_partition(dataset(), DAY, source=landing, lake=lake)
    landing.delete("in/2013/01/01/a.csv")
    landing.put_new("in/2013/01/01/a.csv", b"n,name\n2,changed\n")

    write_group(dataset(), plan, 0, source=landing, lake=lake)
    done = publish_partition(dataset(), plan, RUN, lake=lake)

    assert rows(lake, done.manifest)["n"].to_pylist() == [2]
    assert done.manifest.inventory_digest != plan.inventory.digest
    again = plan_partition(dataset(), DAY, source=landing, lake=lake)
    assert again.unchanged is None, "what was read is not what was listed, so the next run looks again"
    assert rows(lake, run(dataset(), landing, lake).manifest)["n"].to_pylist() == [2]


def test_an_object_that_vanishes_after_the_listing_is_accounted_for(landing: LocalStore, lake: LocalStore) -> None:
    """It was listed, so it is in the counts."""
    land(landing, {"a.csv": b"n,name\n1,x\n", "b.csv": b"n,name\n2,x\n"})
    ds = dataset(max_quarantine_share=0.5)
    plan = plan_partition(ds, DAY, source=landing, lake=lake)
    landing.delete("in/2013/01/01/a.csv")

    write_group(ds, plan, 0, source=landing, lake=lake)
    done = publish_partition(ds, plan, RUN, lake=lake)

    assert (done.manifest.counts.listed, done.manifest.counts.quarantined) == (2, {"vanished": 1})


def test_a_day_on_which_nothing_landed_is_not_done(landing: LocalStore, lake: LocalStore) -> None:
    """The run tries again and fails, naming the prefix; an empty file alone is nothing, too."""
    land(landing, {"a.csv": b""})

    with pytest.raises(NothingLanded, match=r"in/2013/01/01/: found no object with samples among 1 listed"):
        run(dataset(), landing, lake)


def test_an_empty_day_is_published_as_empty_where_that_is_declared(landing: LocalStore, lake: LocalStore) -> None:
    """No objects is then a fact, with its columns."""
    done = run(dataset(may_be_empty=True), landing, lake)

    assert (done.manifest.counts.listed, done.manifest.shards) == (0, ())
    assert rows(lake, done.manifest).schema.names[-2:] == ["n", "name"]


def test_a_flipped_byte_in_a_shard_is_named(landing: LocalStore, lake: LocalStore) -> None:
    """Reading checks every byte against the manifest."""
    land(landing, {"a.csv": b"n,name\n1,x\n"})
    manifest = run(dataset(), landing, lake).manifest
    key = layout.shard("d", manifest.shards[0].sha256)
    data = bytearray(lake.get(key).data)
    data[len(data) // 2] ^= 1
    lake.delete(key)
    lake.put_new(key, bytes(data))

    with pytest.raises(ShardDamaged, match=manifest.shards[0].sha256):
        rows(lake, manifest)


def test_a_shard_lost_before_publication_stops_it(landing: LocalStore, lake: LocalStore) -> None:
    """A manifest never names what is not there."""
    land(landing, {"a.csv": b"n,name\n1,x\n"})
    plan = plan_partition(dataset(), DAY, source=landing, lake=lake)
    result = write_group(dataset(), plan, 0, source=landing, lake=lake)
    lake.delete(layout.shard("d", result.shards[0].sha256))

    with pytest.raises(ShardDamaged, match="nothing"):
        publish_partition(dataset(), plan, RUN, lake=lake)


def test_a_killed_run_redoes_only_the_groups_without_a_result(landing: LocalStore, lake: LocalStore) -> None:
    """What an earlier try finished is not read from the source again."""
    land(landing, {f"{n}.bin": bytes([n]) * 900_000 for n in range(20)})
    ds = dataset(RawBytes(), shard_bytes=1_000_000, row_group_bytes=200_000)
    plan = plan_partition(ds, DAY, source=landing, lake=lake)
    assert len(plan.groups) == 20
    first = write_group(ds, plan, 0, source=landing, lake=lake)
    for source in plan.objects_of(0):
        landing.delete(source.key)

    assert write_group(ds, plan, 0, source=landing, lake=lake) == first


def test_batches_are_at_most_two_hundred() -> None:
    """A run maps over batches of groups, whatever the size of the day."""
    dealt = batches(plan_of(10_000))

    assert len(dealt) == 200
    assert list(itertools.chain(*dealt)) == list(range(10_000))


def test_a_small_day_is_one_task() -> None:
    """Mapping starts where the bytes justify it."""
    assert batches(plan_of(8)) == [list(range(8))]
    assert batches(plan_of(0)) == []


def plan_of(groups: int) -> Plan:
    from headrace.sources.inventory import Inventory

    return Plan(
        dataset="d",
        partition=DAY,
        declaration_digest="x",
        inventory=Inventory(partition=DAY, objects=(), skipped=()),
        measured=Measured(schema=""),
        groups=tuple(Group(first=n, end=n + 1, digest=str(n)) for n in range(groups)),
    )
