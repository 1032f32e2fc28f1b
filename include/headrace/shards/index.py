"""The sample index: from a sample ID to its shard, row group and row.

Sorted by sample ID and cut into files by equal ranges of the ID (IDs are hashes, so the files come out alike), each with its first and
last ID in the manifest and with statistics per row group. So a look-up reads one footer and one row group, whatever the size of the
partition. Merging the groups' index rows needs memory for one file, and finds every ID that stands twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.immutable import upload_verified
from headrace.lake.ranged import RangedFile
from headrace.lake.store import Store
from headrace.manifests.manifest import IndexEntry, Manifest
from headrace.shards.errors import SampleIdRepeated
from headrace.shards.parquet import ParquetStyle, write_parquet

FILE_ROWS: Final = 262_144
GROUP_ROWS: Final = 4096
_PREFIX_HEX: Final = 8
_REMEDY: Final = "The declared key does not name a sample: add a column to it, or remove the doubled rows at the source."


@dataclass(frozen=True, kw_only=True)
class Location:
    """Where one sample lies. `row` counts in the shard, `source_row` in the source object (or member)."""

    sample_id: str
    shard: str
    row_group: int
    row: int
    source_key: str
    source_row: int
    source_member: str | None
    sample_digest: str


def write_index(
    lake: Store, dataset: str, partition: str, parts: Iterable[pa.Table], *, rows: int, folder: Path
) -> tuple[IndexEntry, ...]:
    """Merge index rows into the index of one partition.

    Args:
        parts: index rows with the column `shard`, in any order.
        rows: how many there are in all.
        folder: for temporary files.

    Raises:
        SampleIdRepeated: two samples claim one ID.
    """
    entries = []
    about = f"{dataset} {partition}"
    for number, found in ranges(parts, range_count(rows), folder):
        merged = sorted_once(about, found, remedy=_REMEDY)
        path = folder / f"index-{number}.parquet"
        sha256 = write_parquet(path, merged, ParquetStyle(), group_rows=GROUP_ROWS)
        upload_verified(lake, layout.index(dataset, sha256), path, sha256=sha256)
        ids = merged.column("sample_id")
        entries.append(
            IndexEntry(
                sha256=sha256,
                size_bytes=path.stat().st_size,
                rows=merged.num_rows,
                first_sample_id=ids[0].as_py(),
                last_sample_id=ids[-1].as_py(),
            )
        )
        path.unlink()
    return tuple(entries)


def locate(lake: Store, manifest: Manifest, sample_id: str) -> Location | None:
    """Where a sample of this partition lies, None when it has no such sample. Reads one footer and one row group."""
    for entry in manifest.index:
        if entry.first_sample_id <= sample_id <= entry.last_sample_id:
            key = layout.index(manifest.dataset, entry.sha256)
            with opened_index(RangedFile(lake, key, size_bytes=entry.size_bytes)) as file:
                found = row_of(file, sample_id)
            if found is not None:
                return location_of(found)
    return None


def opened_index(file: RangedFile) -> pq.ParquetFile:
    """An index file whose rows are read as they are asked for. Close it."""
    return pq.ParquetFile(pa.PythonFile(file, mode="r"), page_checksum_verification=True)


def row_of(file: pq.ParquetFile, sample_id: str) -> dict[str, Any] | None:
    """The row of a sample in one index file, None when it has none. Reads one row group."""
    column, groups = file.schema_arrow.names.index("sample_id"), file.num_row_groups

    def last_of(number: int) -> str:
        statistics: Any = file.metadata.row_group(number).column(column).statistics
        return str(statistics.max)

    number = bisect_left(range(groups), sample_id, key=last_of)
    if number == groups:
        return None
    found: list[dict[str, Any]] = file.read_row_group(number).filter(pc.field("sample_id") == sample_id).to_pylist()
    return found[0] if found else None


def location_of(row: dict[str, Any]) -> Location:
    """An index row as a location."""
    return Location(**{"source_member": None, **row})


def range_count(rows: int) -> int:
    """Into how many ranges that many rows are cut, so that memory holds one."""
    return -(-rows // FILE_ROWS)


def ranges(parts: Iterable[pa.Table], count: int, folder: Path) -> Iterator[tuple[int, pa.Table]]:
    """Index rows in `count` equal ranges of the sample ID: the ranges that have rows, each with its number from 0.

    Args:
        parts: in any order.
        folder: for temporary files.
    """
    if count <= 1:
        tables = [part for part in parts if part.num_rows]
        if tables:
            yield 0, pa.concat_tables(tables)
        return
    for number, path in enumerate(_spill(parts, count, folder)):
        if path.exists():
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
                yield number, reader.read_all()
            path.unlink()


def _spill(parts: Iterable[pa.Table], count: int, folder: Path) -> list[Path]:
    paths = [folder / f"bucket-{number:05d}.arrow" for number in range(count)]
    writers: dict[int, Any] = {}
    try:
        for part in (one for one in parts if one.num_rows):
            numbers = bucket_numbers(part.column("sample_id"), count)
            for number in np.unique(numbers):
                if number not in writers:
                    writers[number] = pa.ipc.new_stream(str(paths[number]), part.schema)
                writers[number].write_table(part.filter(pa.array(numbers == number)))
    finally:
        for writer in writers.values():
            writer.close()
    return paths


def bucket_numbers(ids: pa.ChunkedArray[Any], count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Which of `count` equal ranges each ID falls in, by its first eight hex digits."""
    text = np.asarray(ids.to_numpy(), dtype="S")
    digits = np.frombuffer(text.tobytes(), np.uint8).reshape(len(text), -1)[:, :_PREFIX_HEX].astype(np.int64)
    values = np.where(digits >= ord("a"), digits - ord("a") + 10, digits - ord("0"))
    weights = 16 ** np.arange(_PREFIX_HEX - 1, -1, -1, dtype=np.int64)
    prefix: np.ndarray[Any, np.dtype[np.int64]] = values @ weights
    return prefix * count >> (4 * _PREFIX_HEX)


def sorted_once(about: str, rows: pa.Table, *, remedy: str) -> pa.Table:
    """Index rows by sample ID, each ID once. Errors are `about` these rows, and name the partitions of an ID where rows have them.

    Raises:
        SampleIdRepeated: two samples claim one ID.
    """
    merged = rows.sort_by("sample_id")
    array = merged.column("sample_id").combine_chunks()
    same: Any = pc.equal(array.slice(1), array.slice(0, max(len(array) - 1, 0)))
    twice = int(same.true_count)
    if twice:
        first = pc.index(same, pa.scalar(True)).as_py()  # noqa: FBT003 - the value looked for
        where = ""
        if "partition" in merged.column_names:
            where = " in " + " and ".join(sorted(map(str, merged.column("partition")[first : first + 2].to_pylist())))
        raise SampleIdRepeated(
            about,
            found=f"{twice} sample IDs more than once, such as {array[first]}{where}",
            expected="each sample ID once",
            remedy=remedy,
        )
    return merged
