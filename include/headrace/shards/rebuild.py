"""A partition's index and manifest made again from its shards, when they were lost or damaged.

Each shard carries what they were made from: IDs, sources, digests. Where the manifest in use can still be read, only the index is made
again; it is a function of the shards, so it comes out under the names the manifest gives and nothing else changes. Where it cannot, the
manifest is made anew from the shards themselves. It holds every sample in the old order, but cannot say what no shard says: which
objects were skipped or quarantined, and by which declaration. So its digest is another, its facts say so, and the next run of the
partition replaces it with a full one, without moving data.

What it cannot restore: the order of shards that begin inside one archive (they are put in the order of the members' names).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import FinalError
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.ranged import RangedFile
from headrace.lake.store import ObjectInfo, Store
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.manifest import Counts, IndexEntry, Manifest, ShardEntry
from headrace.manifests.read import latest, manifest_of
from headrace.shards.errors import ShardDamaged
from headrace.shards.index import write_index
from headrace.shards.read import shard_file
from headrace.shards.schema import schema_entries
from headrace.shards.workspace import workspace
from headrace.shards.write import INDEXED, rows_to_index
from headrace.spec.canonical import digest_of

UNKNOWN: Final = ("declaration", "quarantined", "skipped")
"""What a manifest made from shards alone cannot say."""
_PLACE: Final = ["sample_id", "source_key", "source_row"]


class RebuildRefused(FinalError):
    """It is not known which shards are the partition's, or they do not fit together."""


@dataclass(frozen=True, kw_only=True)
class _Glimpse:
    """What a shard's footer, first and last row say."""

    entry: ShardEntry
    schema: pa.Schema
    begins: tuple[bytes, str, int]  # key, member, row of its first sample


def rebuild(
    lake: Store, dataset: str, partition: str, *, under: str | None = None, shards: Sequence[str] | None = None
) -> Manifest:
    """Write the partition's index again and return its manifest, which is neither stored nor promoted here.

    Args:
        under: which shards are the partition's, where its manifest is lost: those whose samples' source keys start with this.
        shards: the same, by SHA-256.

    Raises:
        RebuildRefused: no manifest can be read and nobody said which shards are the partition's, or they have different columns.
        SampleIdRepeated: two of the shards hold one sample, such as an object's old and new state: name those that belong together.
        ShardDamaged: a shard is gone, or its bytes are not those of its name.
    """
    layout.check_partition(partition)
    named = _in_use(lake, dataset, partition) if under is None and shards is None else None
    if named is not None:
        return replace(named, index=_indexed(lake, named))
    glimpses = _chosen(lake, dataset, partition, under, shards)
    _check_columns(dataset, partition, glimpses)
    manifest, seen = _bare(dataset, partition, glimpses), set[tuple[str, str]]()
    index = _indexed(lake, manifest, seen)
    objects = sorted(seen)
    read = len({key for key, _ in objects})
    counts = Counts(listed=read, read=read, skipped={}, quarantined={}, samples=manifest.counts.samples)
    return replace(manifest, index=index, counts=counts, inventory_digest=digest_of(["rebuilt", objects]))


def _in_use(lake: Store, dataset: str, partition: str) -> Manifest | None:
    try:
        found = latest(lake, dataset)
        return None if found is None or partition not in found.release.partitions else manifest_of(lake, found.release, partition)
    except (DocumentRefused, ObjectMissing):
        return None


def _chosen(lake: Store, dataset: str, partition: str, under: str | None, shards: Sequence[str] | None) -> list[_Glimpse]:
    if under is None and shards is None:
        raise RebuildRefused(
            f"{dataset} {partition}",
            found="no manifest in use that can be read",
            expected="to be told which shards are the partition's",
            remedy="Give the prefix of its source keys (--under), or the shards by name (--shard).",
        )
    wanted = None if shards is None else {layout.shard(dataset, one) for one in shards}
    listed = [info for info in lake.list(layout.shards(dataset)) if wanted is None or info.key in wanted]
    for key in sorted((wanted or set()) - {info.key for info in listed}):
        raise ShardDamaged(f"{lake.uri}/{key}", found="nothing", expected="a shard", remedy="Leave it out, or restore it.")
    glimpses = [one for info in listed for one in _glimpses(lake, info, under)]
    if not glimpses:
        raise RebuildRefused(
            f"{dataset} {partition}",
            found=f"no shard with samples from {under}",
            expected="at least one",
            remedy="Correct the prefix: `headrace ls DATASET --files` and a Parquet reader show what source keys there are.",
        )
    return sorted(glimpses, key=lambda one: one.begins)


def _glimpses(lake: Store, info: ObjectInfo, under: str | None) -> Iterator[_Glimpse]:
    """The shard, if it is one of those below `under`. Reads its footer and, of its first and last row group, where they come from."""
    file = RangedFile(lake, info.key, size_bytes=info.size_bytes)
    try:
        with pq.ParquetFile(pa.PythonFile(file, mode="r"), page_checksum_verification=True) as parquet:
            last = parquet.metadata.num_row_groups - 1
            names = [name for name in (*_PLACE, "source_member") if name in parquet.schema_arrow.names]
            first_rows = parquet.read_row_group(0, columns=names)
            if under is not None and not all(key.startswith(under) for key in _range_of_keys(parquet.metadata)):
                return
            head = {name: first_rows.column(name)[0].as_py() for name in names}
            last_id = parquet.read_row_group(last, columns=["sample_id"]).column("sample_id")[-1].as_py()
            entry = ShardEntry(
                sha256=info.key.rpartition("/")[2].removesuffix(".parquet"),
                size_bytes=info.size_bytes,
                rows=parquet.metadata.num_rows,
                row_groups=last + 1,
                first_sample_id=head["sample_id"],
                last_sample_id=last_id,
            )
            begins = (head["source_key"].encode(), head.get("source_member", ""), head["source_row"])
            yield _Glimpse(entry=entry, schema=parquet.schema_arrow, begins=begins)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ShardDamaged(
            f"{lake.uri}/{info.key}",
            found=f"{type(error).__name__}: {str(error).splitlines()[0]}",
            expected="a shard",
            remedy="Restore it, or name the shards to rebuild from without it (--shard).",
        ) from error


def _range_of_keys(footer: pq.FileMetaData) -> list[str]:
    """The least and the greatest source key of each row group; what lies between two texts with one beginning has it too."""
    column = [footer.schema.column(number).name for number in range(footer.num_columns)].index("source_key")
    facts = [footer.row_group(number).column(column).statistics for number in range(footer.num_row_groups)]
    return [str(key) for one in facts if one is not None for key in (one.min, one.max)]  # each shard has them: docs/format.md


def _check_columns(dataset: str, partition: str, glimpses: list[_Glimpse]) -> None:
    first = glimpses[0]
    for one in glimpses:
        if not one.schema.equals(first.schema):
            raise RebuildRefused(
                f"{dataset} {partition}, shard {one.entry.sha256}",
                found=", ".join(f"{column.name} {column.type}" for column in one.schema),
                expected=f"the columns of shard {first.entry.sha256}: "
                + ", ".join(f"{column.name} {column.type}" for column in first.schema),
                remedy="Name the shards that belong together (--shard).",
            )


def _bare(dataset: str, partition: str, glimpses: list[_Glimpse]) -> Manifest:
    """The manifest as far as footers tell it."""
    shards = tuple(one.entry for one in glimpses)
    samples = sum(shard.rows for shard in shards)
    return Manifest(
        dataset=dataset,
        partition=partition,
        shards=shards,
        index=(),
        schema=schema_entries(glimpses[0].schema),
        counts=Counts(listed=0, read=0, skipped={}, quarantined={}, samples=samples),
        inventory_digest="",
        declaration_digest=digest_of(["rebuilt", "no declaration"]),
        facts={"rebuilt": {"unknown": list(UNKNOWN)}},
    )


def _indexed(lake: Store, manifest: Manifest, seen: set[tuple[str, str]] | None = None) -> tuple[IndexEntry, ...]:
    """The index of the manifest's shards, each read whole and checked. `seen` gets the source objects (key, ETag)."""
    rows = sum(shard.rows for shard in manifest.shards)
    parts = (part for shard in manifest.shards for part in _index_rows(lake, manifest.dataset, shard, seen))
    with workspace() as folder:
        return write_index(lake, manifest.dataset, manifest.partition, parts, rows=rows, folder=folder)


def _index_rows(lake: Store, dataset: str, shard: ShardEntry, seen: set[tuple[str, str]] | None) -> Iterator[pa.Table]:
    file, before = shard_file(lake, dataset, shard), 0
    names = [name for name in INDEXED if name in file.schema_arrow.names]
    for number in range(file.num_row_groups):
        group = file.read_row_group(number, columns=[*names, "source_etag"])
        if seen is not None:
            seen.update(zip(*(group.column(name).to_pylist() for name in ("source_key", "source_etag")), strict=True))
        rows = rows_to_index(group, number, before)
        yield rows.append_column("shard", pa.repeat(shard.sha256, rows.num_rows))
        before += group.num_rows
