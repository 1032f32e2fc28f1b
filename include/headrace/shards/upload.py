"""Finished shards leave the machine: one PUT each, read back and compared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.immutable import upload_verified
from headrace.lake.store import Store
from headrace.manifests.manifest import PartEntry, ShardEntry
from headrace.shards.errors import ShardDamaged
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.write import FinishedShard, sha256_of

_one_at_a_time: Final = threading.Lock()


def upload_shard(store: Store, dataset: str, shard: FinishedShard) -> ShardEntry:
    """Upload one shard and remove the local file. Returns its manifest entry.

    One at a time in a process: a shard under way is held in memory, and one after another they are no slower.
    """
    with _one_at_a_time:
        upload_verified(store, layout.shard(dataset, shard.sha256), shard.path, sha256=shard.sha256)
    shard.path.unlink()
    return entry_of(shard)


def entry_of(shard: FinishedShard) -> ShardEntry:
    """What a manifest says of a shard."""
    return ShardEntry(
        sha256=shard.sha256,
        size_bytes=shard.size_bytes,
        rows=shard.rows,
        row_groups=shard.row_groups,
        first_sample_id=shard.first_sample_id,
        last_sample_id=shard.last_sample_id,
    )


def index_rows(shard: FinishedShard) -> pa.Table:
    """The shard's index rows, naming it."""
    return shard.index.append_column("shard", pa.repeat(shard.sha256, shard.index.num_rows))


def upload_part(store: Store, dataset: str, tables: list[pa.Table], folder: Path) -> PartEntry | None:
    """Keep a group's index rows until publication merges them; None when it has no samples."""
    if not tables:
        return None
    rows = pa.concat_tables(tables)
    path = folder / "part.parquet"
    sha256 = write_parquet(path, rows, ParquetStyle())
    upload_verified(store, layout.part(dataset, sha256), path, sha256=sha256)
    entry = PartEntry(sha256=sha256, size_bytes=path.stat().st_size, rows=rows.num_rows)
    path.unlink()
    return entry


def read_parts(store: Store, dataset: str, parts: list[PartEntry]) -> Iterator[pa.Table]:
    """The groups' index rows, one group at a time. Raises `ShardDamaged` naming the part."""
    for entry in parts:
        key = layout.part(dataset, entry.sha256)
        data = store.get(key).data
        if sha256_of(data) != entry.sha256:
            raise ShardDamaged(
                f"{store.uri}/{key}",
                found=f"{len(data)} bytes with another SHA-256",
                expected=f"{entry.size_bytes} bytes with SHA-256 {entry.sha256}",
                remedy="Delete the object and clear the run from its plan task: it is written again.",
            )
        yield pq.read_table(pa.BufferReader(data))
