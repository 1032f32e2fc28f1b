"""Finished shards and their index leave the machine: one PUT each, read back and compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.lake import layout
from headrace.lake.immutable import upload_verified
from headrace.lake.store import Store
from headrace.manifests.manifest import IndexEntry, ShardEntry
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.write import FinishedShard, sha256_of_file


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """What one writer left in the lake."""

    shards: tuple[ShardEntry, ...]
    index: tuple[IndexEntry, ...]

    def plain(self) -> dict[str, Any]:
        return {"shards": [asdict(shard) for shard in self.shards], "index": [asdict(entry) for entry in self.index]}


def upload_shard(store: Store, dataset: str, shard: FinishedShard) -> ShardEntry:
    """Upload one shard and remove the local file. Returns its manifest entry."""
    upload_verified(store, layout.shard(dataset, shard.sha256), shard.path, sha256=shard.sha256)
    shard.path.unlink()
    return ShardEntry(
        sha256=shard.sha256,
        size_bytes=shard.size_bytes,
        rows=shard.rows,
        row_groups=shard.row_groups,
        first_sample_id=shard.first_sample_id,
        last_sample_id=shard.last_sample_id,
    )


def upload_index(store: Store, dataset: str, shards: list[tuple[str, pa.Table]], folder: Path) -> tuple[IndexEntry, ...]:
    """One index file over shards given as (sha256, index rows), sorted by sample ID so that a look-up reads one row group."""
    if not shards:
        return ()
    parts = [rows.append_column("shard", pa.repeat(sha256, rows.num_rows)) for sha256, rows in shards]
    merged = pa.concat_tables(parts).sort_by("sample_id")
    path = folder / "index.parquet"
    write_parquet(path, merged, ParquetStyle(), group_rows=4096)
    sha256 = sha256_of_file(path)
    upload_verified(store, layout.index(dataset, sha256), path, sha256=sha256)
    entry = IndexEntry(sha256=sha256, size_bytes=path.stat().st_size, rows=merged.num_rows)
    path.unlink()
    return (entry,)
