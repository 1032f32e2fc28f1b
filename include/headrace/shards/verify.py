"""Reading every byte again and naming what is broken.

Each shard and index file is fetched whole and hashed; the rows are counted; and the index is compared with the shards: the same samples
at the same places, each in exactly one shard. The comparison adds up a 128-bit hash per row on both sides, so its memory does not
grow with the number of samples. All findings are collected; nothing stops at the first.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.errors import AccessRefused, ObjectMissing, StoreUnavailable
from headrace.lake.store import Store
from headrace.manifests.manifest import IndexEntry, Manifest
from headrace.shards.errors import IndexDamaged
from headrace.shards.read import damaged, shard_file
from headrace.shards.write import sha256_of

_WRAP: Final = 1 << 128
_ROW_FIELDS: Final = ("sample_id", "sample_digest", "row_group", "row")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is not as the manifest says."""

    partition: str
    subject: str
    found: str
    expected: str
    remedy: str


def finding_of(partition: str, error: HeadraceError) -> Finding:
    """What an error says of a partition's bytes."""
    return Finding(partition=partition, subject=error.subject, found=error.found, expected=error.expected, remedy=error.remedy)


def verify_partition(lake: Store, manifest: Manifest, *, on_bytes: Callable[[int], None] = lambda _: None) -> Iterator[Finding]:
    """Everything that is wrong with one partition, shards first.

    Args:
        on_bytes: told the number of bytes each time some were checked.

    Raises:
        StoreUnavailable, AccessRefused: the lake could not be read; that is no damage.
    """
    in_shards: dict[str, int] = {}
    for shard in manifest.shards:
        try:
            file = shard_file(lake, manifest.dataset, shard)
            rows = list(_rows_of_shard(file))
            if (len(rows), file.num_row_groups) != (shard.rows, shard.row_groups):
                raise damaged(lake, manifest.dataset, shard, f"{len(rows)} rows in {file.num_row_groups} row groups")
            in_shards[shard.sha256] = _sum_of(rows)
        except (StoreUnavailable, AccessRefused):
            raise  # says nothing about the bytes
        except HeadraceError as error:
            yield finding_of(manifest.partition, error)
        on_bytes(shard.size_bytes)
    yield from _check_index(lake, manifest, in_shards, on_bytes)


def _check_index(
    lake: Store, manifest: Manifest, in_shards: dict[str, int], on_bytes: Callable[[int], None]
) -> Iterator[Finding]:
    sums: defaultdict[str, int] = defaultdict(int)
    counted: Counter[str] = Counter()
    last, whole = "", True
    for entry in manifest.index:
        try:
            for table in _index_tables(lake, manifest.dataset, entry):
                last = _check_order(lake, manifest, entry, table, last)
                for name, rows in _by_shard(table):
                    sums[name] = (sums[name] + _sum_of(rows)) % _WRAP
                    counted[name] += len(rows)
        except (StoreUnavailable, AccessRefused):
            raise
        except HeadraceError as error:
            whole = False
            yield finding_of(manifest.partition, error)
        on_bytes(entry.size_bytes)
    if whole:
        yield from _compare(manifest, in_shards, sums, counted)


def _compare(manifest: Manifest, in_shards: dict[str, int], in_index: dict[str, int], counted: Counter[str]) -> Iterator[Finding]:
    for shard in manifest.shards:
        if shard.sha256 in in_shards and in_shards[shard.sha256] != in_index.get(shard.sha256, 0):
            yield Finding(
                partition=manifest.partition,
                subject=f"index of {manifest.dataset} {manifest.partition}",
                found=f"{counted[shard.sha256]} samples that are not those of shard {shard.sha256}",
                expected=f"the {shard.rows} samples of that shard at their places",
                remedy="Run the partition again from its source.",
            )


def _index_tables(lake: Store, dataset: str, entry: IndexEntry) -> Iterator[pa.Table]:
    key = layout.index(dataset, entry.sha256)
    try:
        data = lake.get(key).data
    except ObjectMissing as error:
        raise _index_damaged(lake, key, entry, "nothing") from error
    found = sha256_of(data)
    if found != entry.sha256:
        raise _index_damaged(lake, key, entry, f"{len(data)} bytes with SHA-256 {found}")
    file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    for number in range(file.num_row_groups):
        yield file.read_row_group(number)


def _index_damaged(lake: Store, key: str, entry: IndexEntry, found: str) -> IndexDamaged:
    return IndexDamaged(
        f"{lake.uri}/{key}",
        found=found,
        expected=f"{entry.size_bytes} bytes with SHA-256 {entry.sha256}",
        remedy=f"`headrace rebuild {key.partition('/')[0]} <partition>` makes it again from the shards.",
    )


def _check_order(lake: Store, manifest: Manifest, entry: IndexEntry, table: pa.Table, last: str) -> str:
    """Strictly ascending over all files: then no sample ID stands twice."""
    for one in map(str, table.column("sample_id").to_pylist()):
        if one <= last:
            key = layout.index(manifest.dataset, entry.sha256)
            raise IndexDamaged(
                f"{lake.uri}/{key}",
                found=f"sample ID {one} after {last}",
                expected="each sample ID once, in order",
                remedy="Run the partition again from its source.",
            )
        last = one
    return last


def _rows_of_shard(file: pq.ParquetFile) -> Iterator[tuple[Any, ...]]:
    row = 0
    for number in range(file.num_row_groups):
        table = file.read_row_group(number, columns=["sample_id", "sample_digest"])
        for sample_id, digest in zip(*(column.to_pylist() for column in table.columns), strict=True):
            yield sample_id, digest, number, row
            row += 1


def _by_shard(table: pa.Table) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    grouped: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    columns = (table.column(name).to_pylist() for name in ("shard", *_ROW_FIELDS))
    for shard, *rest in zip(*columns, strict=True):
        grouped[str(shard)].append(tuple(rest))
    yield from grouped.items()


def _sum_of(rows: Iterable[tuple[Any, ...]]) -> int:
    """The same for the same rows in any order; another row, or one twice, changes it."""
    total = 0
    for row in rows:
        total += int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=16).digest(), "little")
    return total % _WRAP
