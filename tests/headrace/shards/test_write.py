"""Cutting a stream of rows into shards."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.shards.errors import SampleTooLarge
from headrace.shards.parquet import ParquetStyle
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
    writer = ShardWriter(folder, SCHEMA, ParquetStyle(compress=False), limit_bytes=limit, row_group_bytes=group)
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
    writer = ShardWriter(tmp_path, schema, ParquetStyle(), limit_bytes=100_000, row_group_bytes=20_000)

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
