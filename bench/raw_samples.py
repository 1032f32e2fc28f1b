"""What the benchmarks of transforms and of replay share: a release of raw samples without a source, and what a piece of work spent."""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.run import RunIdentity
from headrace.shards.parquet import ParquetStyle
from headrace.shards.samples import position_ids
from headrace.shards.schema import schema_entries
from headrace.shards.upload import entry_of
from headrace.shards.write import FinishedShard, ShardWriter, sha256_of
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes

DAY = "2013-01-01"
RUN = RunIdentity(dag="bench", run_id="bench", kind="local", partition_key=DAY)
FILES = Dataset(name="files", source=Source(prefix="in/%Y/%m/%d/", format=RawBytes()), timezone="UTC", start=date(2013, 1, 1))


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Seconds of wall clock, of CPU, and of CPU outside the kernel; children included."""

    wall: float
    cpu: float
    user: float


def spent(work: Callable[[], Any]) -> Spent:
    def cpu() -> tuple[float, float]:
        found = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime for one in found), sum(one.ru_stime for one in found)

    (user, system), began = cpu(), time.perf_counter()
    work()
    wall, (user_after, system_after) = time.perf_counter() - began, cpu()
    return Spent(wall=wall, cpu=user_after - user + system_after - system, user=user_after - user)


def written(folder: Path, samples: list[tuple[str, bytes]], *, etag: str = "e") -> list[FinishedShard]:
    """Samples (key, bytes) as shards on local disk."""
    rows = rows_of(samples, etag)
    folder.mkdir(parents=True, exist_ok=True)
    with ShardWriter(folder, rows.schema, ParquetStyle(compress=False), limit_bytes=10**8, row_group_bytes=4 * 10**6) as writer:
        return [*writer.add(rows), *writer.finish()]


def publish_shards(lake: LocalStore, shards: list[FinishedShard]) -> None:
    """A release of finished shards, without a source and without an index."""
    entries = []
    for shard in shards:
        if lake.head(layout.shard("files", shard.sha256)) is None:
            lake.put_file(layout.shard("files", shard.sha256), shard.path)
        entries.append(entry_of(shard))
    count = sum(entry.rows for entry in entries)
    manifest = Manifest(
        dataset="files",
        partition=DAY,
        shards=tuple(entries),
        index=(),
        schema=schema_entries(rows_of([("k", b"")]).schema),
        counts=Counts(listed=count, read=count, skipped={}, quarantined={}, samples=count),
        inventory_digest=sha256_of("".join(entry.sha256 for entry in entries).encode()),
        declaration_digest="bench",
    )
    identity = RUN.document()
    promote(lake, "files", {DAY: write_candidate(lake, manifest, identity)}, identity)


def rows_of(samples: list[tuple[str, bytes]], etag: str = "e") -> pa.Table:
    return pa.table(
        {
            "sample_id": [position_ids(key, 1)[0] for key, _ in samples],
            "source_key": [key for key, _ in samples],
            "source_etag": [etag] * len(samples),
            "source_row": pa.array([0] * len(samples), pa.int64()),
            "sample_digest": [hashlib.sha256(payload).hexdigest()[:32] for _, payload in samples],
            "payload": pa.array([payload for _, payload in samples], pa.large_binary()),
        }
    )
