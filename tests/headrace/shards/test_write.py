"""Cutting a stream of rows into shards."""

from __future__ import annotations

import gc
import random
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.shards.errors import SampleTooLarge
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.samples import Payload, payload_rows, shard_schema
from headrace.shards.write import FinishedShard, ShardWriter, sha256_of
from headrace.sources.decode import PAYLOAD
from headrace.sources.inventory import SourceObject
from hypothesis import given, settings
from hypothesis import strategies as st

SCHEMA = shard_schema(PAYLOAD)


def sample(number: int, size: int) -> pa.Table:
    source = SourceObject(key=f"k{number}", size_bytes=size, etag="e")
    return payload_rows([Payload(source=source, member=None, data=random.Random(number).randbytes(size))], SCHEMA)


def write(folder: Path, tables: list[pa.Table], *, limit: int = 100_000, group: int = 20_000) -> list[FinishedShard]:
    with ShardWriter(folder, SCHEMA, ParquetStyle(compress=False), limit_bytes=limit, row_group_bytes=group) as writer:
        finished = [shard for table in tables for shard in writer.add(table)]
        return [*finished, *writer.finish()]


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 30_000) | st.just(150_000), max_size=25))
def test_shards_hold_every_row_in_order(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    """Whole files with the hash and counts they state, and an index that leads to each row."""
    tables = [sample(number, size) for number, size in enumerate(sizes)]
    shards = write(tmp_path_factory.mktemp("shards"), tables)

    rows = [row for shard in shards for row in pq.read_table(shard.path).to_pylist()]
    assert rows == [row for table in tables for row in table.to_pylist()]
    for shard in shards:
        data = shard.path.read_bytes()
        metadata = pq.read_metadata(shard.path)
        assert (sha256_of(data), len(data)) == (shard.sha256, shard.size_bytes)
        assert (metadata.num_rows, metadata.num_row_groups) == (shard.rows, shard.row_groups)
        ids = pq.read_table(shard.path, columns=["sample_id"])["sample_id"].to_pylist()
        assert (ids[0], ids[-1]) == (shard.first_sample_id, shard.last_sample_id)
        file = pq.ParquetFile(shard.path)
        before = [sum(metadata.row_group(n).num_rows for n in range(group)) for group in range(metadata.num_row_groups)]
        for entry in shard.index.to_pylist():
            group = file.read_row_group(entry["row_group"], columns=["sample_id"])
            assert group["sample_id"][entry["row"] - before[entry["row_group"]]].as_py() == entry["sample_id"]


def test_an_oversized_sample_stands_alone_between_others(tmp_path: Path) -> None:
    """What was open is closed before it."""
    shards = write(tmp_path, [sample(0, 10), sample(1, 150_000), sample(2, 10)])

    assert [shard.rows for shard in shards] == [1, 1, 1]


def test_a_sample_over_the_hard_cap_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a byte of it is written."""
    monkeypatch.setattr("headrace.shards.write.HARD_CAP_BYTES", 140_000)

    with pytest.raises(SampleTooLarge, match=r"k1: found a sample of 15\d{4} bytes"):
        write(tmp_path, [sample(1, 150_000)])


def test_null_empty_and_data_stay_apart(tmp_path: Path) -> None:
    """A compaction that mixes them up was seen elsewhere."""
    schema = pa.schema([*list(SCHEMA)[:-1], pa.field("a", pa.binary())])
    identity = sample(0, 1).drop_columns(["payload"])
    rows = pa.concat_tables([identity] * 3).append_column("a", pa.array([None, b"", b"x"], pa.binary())).cast(schema)
    with ShardWriter(tmp_path, schema, ParquetStyle(), limit_bytes=100_000, row_group_bytes=20_000) as writer:
        (shard,) = [*writer.add(rows), *writer.finish()]

    assert pq.read_table(shard.path)["a"].to_pylist() == [None, b"", b"x"]


def test_nothing_in_is_nothing_out(tmp_path: Path) -> None:
    """No empty shard."""
    assert write(tmp_path, []) == []
    assert list(tmp_path.iterdir()) == []


def test_pages_carry_checksums(tmp_path: Path) -> None:
    """A reader of one row group can check what it read."""
    (shard,) = write(tmp_path, [sample(0, 9_000)])
    data = bytearray(shard.path.read_bytes())
    data[5_000] ^= 1

    with pytest.raises(OSError, match="CRC"):
        pq.read_table(pa.BufferReader(bytes(data)), page_checksum_verification=True)


OTHER = pa.table({"sample_id": ["other columns"], "source_key": [b"x" * 5_000]})


def test_a_writer_that_raises_leaves_no_shard(tmp_path: Path) -> None:
    """The half-written file is closed and deleted, and neither the collector nor Arrow has anything left to complain about."""
    with pytest.raises(ValueError, match="schema"), writer_of(tmp_path) as writer:  # noqa: PT012 - the writer's block is what raises
        assert writer.add(sample(0, 5_000)) == []
        assert len(list(tmp_path.iterdir())) == 1
        writer.add(OTHER)
    del writer
    gc.collect()

    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_raises_leaves_no_shard(tmp_path: Path) -> None:
    """What goes wrong between two calls abandons the file as well; finished shards were handed over and stay."""
    with pytest.raises(KeyError), writer_of(tmp_path) as writer:  # noqa: PT012 - as above
        (whole,) = writer.add(sample(0, 150_000))
        writer.add(sample(1, 5_000))
        raise KeyError("the next object")

    assert list(tmp_path.iterdir()) == [whole.path]
    assert sha256_of(whole.path.read_bytes()) == whole.sha256


def test_a_full_disk_leaves_no_shard(tmp_path: Path) -> None:
    """Arrow's own buffers are dropped with the file, not written to it later."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(OSError, match="File too large"), writer_of(tmp_path) as writer:  # noqa: PT012 - as above
        writer.add(sample(0, 5_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, limits[1]))
        try:
            writer.add(sample(1, 5_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    del writer
    gc.collect()

    assert list(tmp_path.iterdir()) == []


def test_a_small_table_that_raises_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for index files and parts, which are written at once."""
    monkeypatch.setattr("headrace.shards.parquet.ParquetFile.add_row_group", lambda *_: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        write_parquet(tmp_path / "part.parquet", sample(0, 10), ParquetStyle())
    gc.collect()

    assert list(tmp_path.iterdir()) == []


def writer_of(folder: Path) -> ShardWriter:
    return ShardWriter(folder, SCHEMA, ParquetStyle(), limit_bytes=100_000, row_group_bytes=2_000)
