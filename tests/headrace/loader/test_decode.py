"""A shard's rows come in parts, all of them, in order, under one schema."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.loader import decode
from headrace.loader.decode import PART_BYTES, decoded
from headrace.loader.errors import ShardUnreadable
from headrace.loader.release import Shard


def shard(rows: int) -> Shard:
    return Shard(dataset="d", partition="all", sha256="0" * 64, size_bytes=1, rows=rows, first_sample_id="a", last_sample_id="z")


def parquet(table: pa.Table, group_rows: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=group_rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("size", "rows", "group_rows", "parts"),
    [
        (10, 1, 1, 1),
        (10, 0, 1, 1),
        (100, 30_000, 100, 1),
        (1_000, 10_000, 3_000, 2),
        (50_000, 200, 100, 2),
        (50_000, 250, 100, 3),
    ],
)
def test_parts_are_whole_and_neither_tiny_nor_large(size: int, rows: int, group_rows: int, parts: int) -> None:
    """Small row groups are put together, large ones stand alone; an empty shard is one empty part."""
    table = pa.table({"n": pa.array(range(rows), pa.int64()), "payload": pa.array([bytes(size)] * rows, pa.binary())})

    got = list(decoded("file:///lake", shard(rows), parquet(table, group_rows), ("payload", "n")))

    assert pa.Table.from_batches(got).equals(table.select(["payload", "n"]))
    assert len(got) == parts
    assert all(part.nbytes >= PART_BYTES for part in got[:-1])


def test_a_column_too_large_for_its_offsets_has_wider_ones_in_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the parts that would do without: a file has one schema."""
    monkeypatch.setattr(decode, "_LARGE_BYTES", 6_000_000)
    table = pa.table({"text": ["x" * 9_000_000 if n == 150 else "y" * 50_000 for n in range(200)], "n": range(200)})
    data = io.BytesIO()
    pq.write_table(table, data, row_group_size=100, use_dictionary=False, compression="none")

    got = list(decoded("file:///lake", shard(200), data.getvalue(), ("text", "n")))

    assert [part.schema.field("text").type for part in got] == [pa.large_string()] * 2
    assert [text for part in got for text in part.column("text").to_pylist()] == table.column("text").to_pylist()


def test_dictionaries_are_decoded() -> None:
    """Rows are taken by place from one contiguous array."""
    table = pa.table({"word": pa.array(["a", "b", "a"]).dictionary_encode()})

    [part] = decoded("file:///lake", shard(3), parquet(table, 2), ("word",))

    assert part.column("word").equals(pa.array(["a", "b", "a"]))


@pytest.mark.parametrize(("rows", "data"), [(3, b"no parquet"), (4, parquet(pa.table({"n": [1, 2, 3]}), 2))])
def test_what_does_not_decode_or_has_other_rows_is_refused(rows: int, data: bytes) -> None:
    """By the shard's name and its samples'."""
    with pytest.raises(ShardUnreadable, match=r"samples of all, a to z\)"):
        list(decoded("file:///lake", shard(rows), data, ("n",)))
