"""Rows that were computed, not landed: written as shards like any other, and read back.

A snapshot or a training set has no source objects of its own; its samples name what they were computed from, and their IDs come from
the columns that identify a row.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.manifest import ColumnEntry, Manifest
from headrace.shards.errors import SampleIdRepeated, ShardDamaged
from headrace.shards.parquet import ParquetStyle
from headrace.shards.samples import with_identity
from headrace.shards.upload import Uploaded, upload_index, upload_shard
from headrace.shards.write import ShardWriter, sha256_of
from headrace.sources.inventory import SourceObject
from headrace.spec.dataset import MB


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
    digest: str,
    shard_bytes: int = 100 * MB,
) -> WrittenTable:
    """Write rows in their order, each behind its identity columns.

    Args:
        key: the columns that identify a row; their values make the sample ID.
        computed_from: stands in `source_key`: what the rows were computed from.
        digest: stands in `source_etag`: which state of it.

    Raises:
        SampleIdRepeated: two rows agree on the key.
    """
    source = SourceObject(key=computed_from, size_bytes=0, etag=digest)
    samples = with_identity(source, rows, key)
    _check_unique(dataset, computed_from, samples)
    with tempfile.TemporaryDirectory(prefix="headrace-") as name:
        folder = Path(name)
        writer = ShardWriter(folder, samples.schema, ParquetStyle(), shard_bytes=shard_bytes, row_group_bytes=4 * MB)
        finished = [*writer.add(samples), *writer.finish()]
        index = [(shard.sha256, shard.index) for shard in finished]
        uploaded = Uploaded(
            shards=tuple(upload_shard(lake, dataset, shard) for shard in finished),
            index=upload_index(lake, dataset, index, folder),
        )
    return WrittenTable(uploaded=uploaded, schema=schema_entries(samples.schema), rows=samples.num_rows)


def read_partition(lake: Store, manifest: Manifest, columns: Iterable[str] | None = None) -> pa.Table:
    """All rows of a partition in order, each shard checked against its digest. `columns`: only these.

    Raises:
        ShardDamaged: names the shard.
    """
    names = None if columns is None else list(columns)
    tables = []
    for shard in manifest.shards:
        key = layout.shard(manifest.dataset, shard.sha256)
        data = lake.get(key).data
        found = sha256_of(data)
        if found != shard.sha256:
            raise ShardDamaged(
                f"{lake.uri}/{key}",
                found=f"{len(data)} bytes with SHA-256 {found}",
                expected=f"{shard.size_bytes} bytes with SHA-256 {shard.sha256}",
                remedy=f"Restore the object, or run {manifest.dataset} {manifest.partition} again from its source.",
            )
        tables.append(pq.read_table(pa.BufferReader(data), columns=names, page_checksum_verification=True))
    if not tables:
        return empty_table(manifest.schema, names)
    return pa.concat_tables(tables)


def empty_table(schema: tuple[ColumnEntry, ...], columns: list[str] | None) -> pa.Table:
    """No rows, with the columns a manifest lists."""
    fields = [pa.field(entry.name, _type_from(entry.type)) for entry in schema if columns is None or entry.name in columns]
    return pa.schema(fields).empty_table()


def schema_entries(schema: pa.Schema) -> tuple[ColumnEntry, ...]:
    """The shards' columns as a manifest lists them."""
    return tuple(ColumnEntry(name=entry.name, type=str(entry.type)) for entry in schema)


def _type_from(text: str) -> pa.DataType:
    if text.startswith("timestamp[us, tz="):
        return pa.timestamp("us", tz=text.removeprefix("timestamp[us, tz=").removesuffix("]"))
    if text.startswith("decimal128("):
        precision, scale = text.removeprefix("decimal128(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    alias: Callable[[str], pa.DataType] = pa.type_for_alias  # type: ignore[assignment] # the stubs list each alias as a literal
    return alias(text)


def _check_unique(dataset: str, computed_from: str, samples: pa.Table) -> None:
    ids = samples.column("sample_id").to_pylist()
    if len(set(ids)) != len(ids):
        row = next(number for number, one in enumerate(ids) if ids.index(one) < number)
        raise SampleIdRepeated(
            f"{dataset} row {row}",
            found=f"the same key twice in what was computed from {computed_from}",
            expected="each row once",
            remedy="Make the key columns identify a row.",
        )
