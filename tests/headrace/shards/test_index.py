"""From a sample ID to one row group."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, IndexEntry, Manifest
from headrace.shards import index
from headrace.shards.errors import SampleIdRepeated
from headrace.shards.index import bucket_numbers, locate, write_index


def sample_id(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:32]


def part(numbers: list[int], shard: str) -> pa.Table:
    return pa.table(
        {
            "sample_id": [sample_id(n) for n in numbers],
            "source_key": [f"k{n}" for n in numbers],
            "source_row": pa.array(numbers, pa.int64()),
            "sample_digest": ["d"] * len(numbers),
            "row_group": pa.array([0] * len(numbers), pa.int32()),
            "row": pa.array(range(len(numbers)), pa.int64()),
            "shard": [shard] * len(numbers),
        }
    )


def manifest(entries: tuple[IndexEntry, ...]) -> Manifest:
    counts = Counts(listed=0, read=0, skipped={}, quarantined={}, samples=0)
    return Manifest(
        dataset="d",
        partition="all",
        shards=(),
        index=entries,
        schema=(),
        counts=counts,
        inventory_digest="",
        declaration_digest="",
    )


class CountingStore(LocalStore):
    """Adds up the bytes of ranged reads; whole reads are not allowed."""

    bytes_read = 0

    def get(self, key: str, *, etag: str | None = None) -> object:  # type: ignore[override] # never returns
        raise AssertionError(f"the whole of {key} was read")

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        data = super().get_range(key, start, end, etag=etag)
        self.bytes_read += len(data)
        return data


@pytest.mark.parametrize("file_rows", [1_000_000, 1000])
def test_every_sample_is_found_and_no_other(
    lake: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_rows: int
) -> None:
    """In one file, or in many cut by equal ranges of the ID."""
    monkeypatch.setattr(index, "FILE_ROWS", file_rows)
    numbers = list(range(5000))
    random.Random(0).shuffle(numbers)
    parts = [part(numbers[start : start + 700], f"shard{start}") for start in range(0, 5000, 700)]

    entries = write_index(lake, "d", "all", parts, rows=5000, folder=tmp_path)

    assert len(entries) == (1 if file_rows > 5000 else 5)
    assert sum(entry.rows for entry in entries) == 5000
    for position in range(0, 5000, 371):
        found = locate(lake, manifest(entries), sample_id(numbers[position]))
        assert found is not None
        assert (found.source_key, found.row, found.shard) == (
            f"k{numbers[position]}",
            position % 700,
            f"shard{position - position % 700}",
        )
    assert locate(lake, manifest(entries), sample_id(5001)) is None
    assert locate(lake, manifest(entries), "") is None


def test_a_look_up_reads_one_row_group(lake: LocalStore, tmp_path: Path) -> None:
    """Of 25 row groups: under a tenth of the bytes, the footer among them."""
    entries = write_index(lake, "d", "all", [part(list(range(100_000)), "s")], rows=100_000, folder=tmp_path)
    counting = CountingStore(Path(lake.uri.removeprefix("file://")))

    assert locate(counting, manifest(entries), sample_id(4242)) is not None
    assert counting.bytes_read < entries[0].size_bytes / 10


@pytest.mark.parametrize("file_rows", [1_000_000, 100])
def test_an_id_that_stands_twice_is_found_wherever_its_rows_are(
    lake: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_rows: int
) -> None:
    """In the first and the last part."""
    monkeypatch.setattr(index, "FILE_ROWS", file_rows)
    parts = [part([7, *range(100, 600)], "a"), part(list(range(600, 1000)), "b"), part([7], "c")]

    with pytest.raises(SampleIdRepeated, match=f"1 sample IDs more than once, such as {sample_id(7)}"):
        write_index(lake, "d", "all", parts, rows=902, folder=tmp_path)


def test_buckets_are_equal_ranges_of_the_id() -> None:
    """By the first eight hex digits."""
    ids = pa.chunked_array([["0" * 32, "7fffffff" + "0" * 24, "80000000" + "0" * 24, "f" * 32]])

    assert np.array_equal(bucket_numbers(ids, 2), [0, 0, 1, 1])
    assert np.array_equal(bucket_numbers(ids, 3), [0, 1, 1, 2])


def test_index_files_do_not_overlap_and_are_sorted(lake: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First and last ID stand in the manifest."""
    monkeypatch.setattr(index, "FILE_ROWS", 500)
    entries = write_index(lake, "d", "all", [part(list(range(3000)), "s")], rows=3000, folder=tmp_path)

    ids = [
        one
        for entry in entries
        for one in pq.read_table(pa.BufferReader(lake.get(layout.index("d", entry.sha256)).data))["sample_id"].to_pylist()
    ]
    assert ids == sorted(sample_id(n) for n in range(3000))
    assert (entries[0].first_sample_id, entries[-1].last_sample_id) == (ids[0], ids[-1])
