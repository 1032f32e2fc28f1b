"""Rows that were computed, not landed: written as shards like any other, and read back.

A snapshot or a training set has no source objects of its own; its samples name what they were computed from, and their IDs come from
the columns that identify a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headrace.lake.store import Store
from headrace.manifests.manifest import ColumnEntry, IndexEntry, ShardEntry
from headrace.shards.errors import SampleIdRepeated
from headrace.shards.index import write_index
from headrace.shards.parquet import ParquetStyle
from headrace.shards.read import read_partition
from headrace.shards.samples import with_identity
from headrace.shards.schema import schema_entries
from headrace.shards.upload import index_rows, upload_shard
from headrace.shards.workspace import workspace
from headrace.shards.write import ShardWriter
from headrace.sources.inventory import SourceObject
from headrace.spec.dataset import MB

__all__ = ["Uploaded", "WrittenTable", "read_partition", "write_table"]


COMPUTED: Final = "computed"


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """What one writer left in the lake."""

    shards: tuple[ShardEntry, ...]
    index: tuple[IndexEntry, ...]


@dataclass(frozen=True, kw_only=True)
class WrittenTable:
    """Where a table went and which columns its shards have."""

    uploaded: Uploaded
    schema: tuple[ColumnEntry, ...]
    rows: int


def write_table(
    lake: Store,
    dataset: str,
    rows: pa.Table,
    *,
    key: tuple[str, ...],
    computed_from: str,
    shard_bytes: int = 100 * MB,
) -> WrittenTable:
    """Write rows in their order, each behind its identity columns.

    Args:
        key: the columns that identify a row; their values make the sample ID.
        computed_from: stands in `source_key`: what the rows were computed from. In which state that was is in the manifest and
            not in the shards: an input that changed without changing these rows must not change their bytes.

    Raises:
        SampleIdRepeated: two rows agree on the key.
    """
    source = SourceObject(key=computed_from, size_bytes=0, etag=COMPUTED)
    samples = with_identity(source, rows, key)
    _check_unique(dataset, computed_from, samples)
    with workspace() as folder:
        with ShardWriter(folder, samples.schema, ParquetStyle(), limit_bytes=shard_bytes, row_group_bytes=4 * MB) as writer:
            finished = [*writer.add(samples), *writer.finish()]
        parts = [index_rows(shard) for shard in finished]
        uploaded = Uploaded(
            shards=tuple(upload_shard(lake, dataset, shard) for shard in finished),
            index=write_index(lake, dataset, computed_from, parts, rows=samples.num_rows, folder=folder),
        )
    return WrittenTable(uploaded=uploaded, schema=schema_entries(samples.schema), rows=samples.num_rows)


def _check_unique(dataset: str, computed_from: str, samples: pa.Table) -> None:
    ids: Any = samples.column("sample_id").combine_chunks().dictionary_encode()
    # Codes are given in order of appearance: the first row whose code is not its own number repeats an earlier one.
    repeated = np.flatnonzero(np.asarray(ids.indices) != np.arange(len(ids)))
    if repeated.size > 0:
        raise SampleIdRepeated(
            f"{dataset} row {repeated[0]}",
            found=f"the same key twice in what was computed from {computed_from}",
            expected="each row once",
            remedy="Make the key columns identify a row.",
        )
