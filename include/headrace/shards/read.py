"""Reading shards back, every byte checked against the manifest before a row is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.ranged import RangedFile
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest, ShardEntry
from headrace.shards.errors import SampleDamaged, ShardDamaged
from headrace.shards.index import Location
from headrace.shards.samples import digests_of
from headrace.shards.schema import empty_table
from headrace.shards.write import sha256_of

_IDENTITY: Final = {"sample_id", "source_key", "source_etag", "source_row", "source_member", "sample_digest"}


def read_partition(lake: Store, manifest: Manifest, columns: Iterable[str] | None = None) -> pa.Table:
    """All rows of a partition in order. `columns`: only these.

    Raises:
        ShardDamaged: names the shard.
    """
    names = None if columns is None else list(columns)
    tables = [shard_file(lake, manifest.dataset, shard).read(columns=names) for shard in manifest.shards]
    return pa.concat_tables(tables) if tables else empty_table(manifest.schema, names)


def row_groups(lake: Store, manifest: Manifest) -> Iterator[pa.Table]:
    """The rows of a partition in order, one row group at a time; memory holds one shard's bytes.

    Raises:
        ShardDamaged: names the shard, before any of its rows is given.
    """
    for shard in manifest.shards:
        file = shard_file(lake, manifest.dataset, shard)
        for number in range(file.num_row_groups):
            yield file.read_row_group(number)


def shard_file(lake: Store, dataset: str, shard: ShardEntry) -> pq.ParquetFile:
    """One shard, fetched whole and checked. Raises `ShardDamaged`."""
    key = layout.shard(dataset, shard.sha256)
    try:
        data = lake.get(key).data
    except ObjectMissing as error:
        raise damaged(lake, dataset, shard, "nothing") from error
    found = sha256_of(data)
    if found != shard.sha256:
        raise damaged(lake, dataset, shard, f"{len(data)} bytes with SHA-256 {found}")
    return pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)


def read_sample(lake: Store, manifest: Manifest, where: Location) -> pa.Table:
    """One sample as one row. Reads the footer and one row group of its shard, and checks the sample against its digest.

    Raises:
        SampleDamaged: the row is not what the index says; names sample and shard.
    """
    shard = next((one for one in manifest.shards if one.sha256 == where.shard), None)
    if shard is None:
        raise _not_the_sample(lake, manifest, where, "a shard the manifest does not list")
    file = RangedFile(lake, layout.shard(manifest.dataset, shard.sha256), size_bytes=shard.size_bytes)
    try:
        with pq.ParquetFile(pa.PythonFile(file, mode="r"), page_checksum_verification=True) as parquet:
            before = sum(parquet.metadata.row_group(number).num_rows for number in range(where.row_group))
            row = parquet.read_row_group(where.row_group).slice(where.row - before, 1)
    except (pa.ArrowException, OSError) as error:
        raise _not_the_sample(lake, manifest, where, str(error).splitlines()[0]) from error
    own = row.drop_columns([name for name in row.schema.names if name in _IDENTITY])
    if row.column("sample_id").to_pylist() != [where.sample_id] or digests_of(own) != [where.sample_digest]:
        raise _not_the_sample(lake, manifest, where, "another sample, or other values")
    return row


def damaged(lake: Store, dataset: str, shard: ShardEntry, found: str) -> ShardDamaged:
    """The error for a shard whose bytes are not the ones its manifest names."""
    return ShardDamaged(
        f"{lake.uri}/{layout.shard(dataset, shard.sha256)}",
        found=found,
        expected=f"{shard.size_bytes} bytes with SHA-256 {shard.sha256}",
        remedy=f"Restore the object, or delete it and run {dataset} again from its source: it is written again.",
    )


def _not_the_sample(lake: Store, manifest: Manifest, where: Location, found: str) -> SampleDamaged:
    return SampleDamaged(
        f"sample {where.sample_id} in {lake.uri}/{layout.shard(manifest.dataset, where.shard)}",
        found=found,
        expected=f"row {where.row} with digest {where.sample_digest}",
        remedy=f"Run `headrace verify {manifest.dataset}` to see what else is damaged.",
    )
