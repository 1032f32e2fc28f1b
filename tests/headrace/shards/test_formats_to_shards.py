"""Every declared format from objects to rows of a release."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.shards.density import measure_density, rounded
from headrace.shards.table import read_partition
from headrace.shards.verify import verify_partition
from headrace.sources.inventory import take_inventory
from headrace.spec.columns import columns
from headrace.spec.dataset import MB
from headrace.spec.errors import DeclarationError
from headrace.spec.formats import Csv, JsonLines, Parquet, RawBytes

from tests.headrace.shards.lake_building import DAY, land, make_dataset, raw_dataset, run


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def tar(**members: bytes) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()


def test_members_of_an_archive_are_samples(landing: LocalStore, lake: LocalStore) -> None:
    """Each with its name; what is no file is counted in the manifest."""
    land(landing, {"a.tar": tar(one=b"1", two=b"22", **{"._x": b"junk"}), "b.tar": tar(one=b"other")})

    done = run(make_dataset(RawBytes(), source={"unpack": ("tar",)}), landing, lake)

    rows = read_partition(lake, done.manifest).select(["source_key", "source_member", "source_row", "payload"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("in/2013/01/01/a.tar", "one", 0, b"1"),
        ("in/2013/01/01/a.tar", "two", 0, b"22"),
        ("in/2013/01/01/b.tar", "one", 0, b"other"),
    ]
    assert done.manifest.counts.members_skipped == {"member is a housekeeping file": 1}
    assert len(set(read_partition(lake, done.manifest)["sample_id"].to_pylist())) == 3
    assert list(verify_partition(lake, done.manifest)) == []


def test_tables_in_archives_count_rows_by_member(landing: LocalStore, lake: LocalStore) -> None:
    """A bad member refuses its object and says which."""
    good = tar(**{"x.csv": b"n\n1\n2\n", "y.csv": b"n\n3\n"})
    land(landing, {"a.tar.gz": gzip.compress(good), "b.tar.gz": gzip.compress(tar(**{"z.csv": b"n\nbad\n"}))})
    ds = make_dataset(Csv(columns=columns(n="int64")), source={"unpack": ("gz", "tar")}, max_quarantine_share=0.5)

    done = run(ds, landing, lake)

    table = read_partition(lake, done.manifest)
    assert table.select(["source_member", "source_row", "n"]).to_pylist() == [
        {"source_member": "x.csv", "source_row": 0, "n": 1},
        {"source_member": "x.csv", "source_row": 1, "n": 2},
        {"source_member": "y.csv", "source_row": 0, "n": 3},
    ]
    record = done.manifest.facts["quarantined"][0]
    assert record["key"].endswith("b.tar.gz")
    assert b"member z.csv row 0 column n" in lake.get(f"d/quarantine/{DAY}/{record['record']}.json").data


def test_json_lines(landing: LocalStore, lake: LocalStore) -> None:
    """Gzipped, as feeds land them."""
    land(landing, {"a.jsonl.gz": gzip.compress(b'{"n": 1}\n') + gzip.compress(b'{"n": 2, "s": "x"}\n')})
    ds = make_dataset(JsonLines(columns=columns(n="int64", s="string")), source={"unpack": ("gz",)})

    assert read_partition(lake, run(ds, landing, lake).manifest).select(["n", "s"]).to_pylist() == [
        {"n": 1, "s": None},
        {"n": 2, "s": "x"},
    ]


def test_parquet_is_unified_over_the_partition(landing: LocalStore, lake: LocalStore) -> None:
    """Widened and filled; what conflicts is quarantined with both types."""
    land(
        landing,
        {
            "1": parquet(pa.table({"a": pa.array([1], pa.int32())})),
            "2": parquet(pa.table({"a": pa.array([2.5]), "b": ["new"]})),
            "3": parquet(pa.table({"a": ["text"]})),
        },
    )

    done = run(make_dataset(Parquet(), max_quarantine_share=0.5), landing, lake)

    assert read_partition(lake, done.manifest).select(["a", "b"]).to_pylist() == [{"a": 1.0, "b": None}, {"a": 2.5, "b": "new"}]
    assert [(column.name, column.type) for column in done.manifest.schema[-2:]] == [("a", "double"), ("b", "string")]
    assert done.manifest.counts.quarantined == {"conflicting type": 1}


def test_declared_parquet_takes_nothing_else(landing: LocalStore, lake: LocalStore) -> None:
    """Another column, or another type, is quarantined."""
    land(
        landing,
        {
            "1": parquet(pa.table({"a": pa.array([1], pa.int64())})),
            "2": parquet(pa.table({"a": pa.array([1], pa.int64()), "b": [1]})),
            "3": parquet(pa.table({"a": [1.5]})),
        },
    )

    done = run(make_dataset(Parquet(columns=columns(a="int64")), max_quarantine_share=0.9), landing, lake)

    assert done.manifest.counts.quarantined == {"conflicting type": 1, "undeclared column": 1}
    assert done.manifest.counts.samples == 1


@pytest.mark.parametrize(
    ("unpack", "form", "says"),
    [
        (("tar", "zip"), RawBytes(), "at most one archive"),
        (("rar",), RawBytes(), "layers of gz"),
        (("gz",), Parquet(), "footers are read first"),
    ],
)
def test_layers_that_make_no_sense_are_refused_at_the_door(unpack: tuple[str, ...], form: object, says: str) -> None:
    """In the declaration."""
    with pytest.raises(DeclarationError, match=says):
        make_dataset(form, source={"unpack": unpack})  # type: ignore[arg-type] # a format


def words(seed: int, size: int) -> bytes:
    dice = random.Random(seed)
    vocabulary = [f"{n * 2654435761 % 2**32:x}" for n in range(500)]
    return " ".join(dice.choices(vocabulary, k=size // 7)).encode()


@pytest.mark.parametrize("compress", [False, True])
def test_shards_come_out_near_the_target(landing: LocalStore, lake: LocalStore, compress: bool) -> None:
    """Packed text too: 95 % of the full shards within 10 %, whatever the packing saves."""
    land(landing, {f"{n:04d}.txt": words(n, 30_000) for n in range(700 if compress else 300)})

    manifest = run(
        raw_dataset() if not compress else make_dataset(RawBytes(compress=True), shard_bytes=MB, row_group_bytes=MB // 5),
        landing,
        lake,
    ).manifest

    full = [shard.size_bytes for shard in manifest.shards[:-1]]
    near = [size for size in full if 900_000 <= size <= 1_100_000]
    assert len(full) >= 5
    assert len(near) >= 0.95 * len(full)


def test_density_is_measured_on_the_same_objects_each_time(landing: LocalStore) -> None:
    """And is 1 where nothing is packed or one shard holds everything."""
    land(landing, {f"{n:04d}.txt": words(n, 30_000) for n in range(100)})
    packed = make_dataset(RawBytes(compress=True), shard_bytes=MB, row_group_bytes=MB // 5)
    from headrace.sources.decode import PAYLOAD

    objects = take_inventory(landing, packed, DAY).objects

    first = measure_density(packed, landing, objects, PAYLOAD)

    assert first == measure_density(packed, landing, objects, PAYLOAD) == rounded(first)
    assert 0.2 < first < 0.7
    assert measure_density(raw_dataset(), landing, objects, PAYLOAD) == 1.0
    assert measure_density(packed, landing, objects[:10], PAYLOAD) == 1.0


def test_row_groups_are_cut_by_bytes(landing: LocalStore, lake: LocalStore) -> None:
    """Not by rows only: wide and narrow samples alike, and never more than 16,384 rows."""
    land(landing, {"a.csv": b"n\n" + b"1\n" * 40_000})
    narrow = run(make_dataset(Csv(columns=columns(n="int8"))), landing, lake).manifest
    (shard,) = narrow.shards
    metadata = pq.read_metadata(pa.BufferReader(lake.get(layout.shard("d", shard.sha256)).data))

    assert max(metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)) <= 16_384
    land(landing, {f"{n:02d}.bin": bytes(90_000) for n in range(10)}, "2013-01-02")
    wide = run(raw_dataset(), landing, lake, "2013-01-02").manifest
    metadata = pq.read_metadata(pa.BufferReader(lake.get(layout.shard("d", wide.shards[0].sha256)).data))
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [3, 3, 3, 1]


@pytest.mark.skipif("HEADRACE_LARGE" not in os.environ, reason="takes 8 GB of memory: the full count")
def test_more_than_two_gigabytes_of_text_in_one_column(landing: LocalStore, lake: LocalStore) -> None:
    """No 32-bit offset overflows."""
    text = "x" * 1_000_000
    land(landing, {"big.parquet": parquet(pa.table({"s": pa.array([text] * 2_200, pa.large_string())}))})
    ds = make_dataset(Parquet(), source={"max_unpacked_bytes": 4 * 1024**3})

    manifest = run(ds, landing, lake).manifest

    assert manifest.counts.samples == 2_200
    assert ds.start == date(2013, 1, 1)
