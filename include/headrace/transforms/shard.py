"""One input shard through a transform: fetched and checked, its row groups dealt to the cores, its rows written as shards of their own.

Rows of two input shards never share a shard, so each result is a function of its input shard and the fingerprint alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake.store import Store
from headrace.manifests.manifest import ShardEntry
from headrace.shards.parquet import ParquetStyle
from headrace.shards.upload import index_rows, upload_part, upload_shard
from headrace.shards.workspace import workspace
from headrace.shards.write import FinishedShard, ShardWriter
from headrace.spec.columns import Column
from headrace.spec.transform import Transform
from headrace.transforms.chain import rows_schema
from headrace.transforms.fetch import Fetcher
from headrace.transforms.fingerprint import Fingerprint
from headrace.transforms.job import Done, Job, opened
from headrace.transforms.pool import Pool
from headrace.transforms.result import ShardResult, result_key, store_result

Progress = Callable[["Passed"], None]
IN_MEMORY_BYTES: Final = 128_000_000
"""A shard up to this size that is worked on in this process alone needs no file: writing one costs twice what hashing does."""


@dataclass(frozen=True, kw_only=True)
class Passed:
    """How far a shard is: row groups and samples done, of how many, in how many seconds."""

    shard: str
    row_groups: int
    of_row_groups: int
    samples: int
    of_samples: int
    failed: int
    seconds: float


def transform_shard(
    transform: Transform,
    fingerprint: Fingerprint,
    shard: ShardEntry,
    pool: Pool,
    fetcher: Fetcher,
    *,
    lake: Store,
    progress: Progress,
) -> ShardResult:
    """Transform one shard of the input, store the shards it becomes, and keep the result.

    Nothing that is kept lies in memory of the fetcher's: it may be used for the next shard.

    Raises:
        ShardDamaged: the input's bytes are not the ones its manifest names.
        WorkerDied: a process of the task ended in the middle of its work.
    """
    with workspace() as folder:
        stays_here = pool.works_here(shard.row_groups) and shard.size_bytes <= IN_MEMORY_BYTES
        source = fetcher.in_memory(shard) if stays_here else fetcher.in_file(shard, folder / "input.parquet")
        schema = rows_schema(transform, pq.read_schema(opened(source)))
        output = _Output(lake, transform.name)
        jobs = [Job(shard=source, row_group=n, output=str(folder / f"rows-{n}.arrow")) for n in range(shard.row_groups)]
        done, began = [], time.monotonic()
        limits = {"limit_bytes": transform.shard_bytes, "row_group_bytes": transform.row_group_bytes}
        with ShardWriter(folder, schema, style_of(transform), **limits) as writer:
            for rows, one in pool.run(jobs):
                done.append(one)
                output.take(writer.add(rows))
                progress(_passed(shard, done, time.monotonic() - began))
            output.take(writer.finish())
        result = output.result(done, folder)
    store_result(lake, result_key(transform.name, fingerprint.digest, shard.sha256), result)
    return result


def style_of(transform: Transform) -> ParquetStyle:
    """Tensors and bytes are large values: no dictionary, no statistics, compressed when declared."""
    large = {column.name for column in transform.columns if not isinstance(column, Column) or column.type == "binary"}
    return ParquetStyle(compress=transform.compress, large=frozenset(large))


class _Output:
    """The shards that are written, in order, and their index rows."""

    def __init__(self, lake: Store, dataset: str) -> None:
        self._lake, self._dataset = lake, dataset
        self._shards: list[ShardEntry] = []
        self._index: list[pa.Table] = []

    def take(self, finished: list[FinishedShard]) -> None:
        for shard in finished:
            self._index.append(index_rows(shard))
            self._shards.append(upload_shard(self._lake, self._dataset, shard))

    def result(self, done: list[Done], folder: Path) -> ShardResult:
        return ShardResult(
            shards=tuple(self._shards),
            part=upload_part(self._lake, self._dataset, self._index, folder),
            samples=sum(one.samples for one in done),
            rows=sum(one.rows for one in done),
            dropped=sum(one.dropped for one in done),
            failed=tuple(failure for one in done for failure in one.failed),
        )


def _passed(shard: ShardEntry, done: list[Done], seconds: float) -> Passed:
    return Passed(
        shard=shard.sha256,
        row_groups=len(done),
        of_row_groups=shard.row_groups,
        samples=sum(one.samples for one in done),
        of_samples=shard.rows,
        failed=sum(len(one.failed) for one in done),
        seconds=seconds,
    )
