"""One index over all partitions of a release: from a sample ID to its partition, in reads that do not grow with the days.

Each partition has an index of its own (`index.py`), and IDs are hashes that say nothing of their day: without this, a sample known by its
ID alone is asked for in every partition. The merged index costs what the IDs cost, about a thousandth of the samples' bytes, but of the
whole history, so no run pays it: `headrace index` does, now and then, as one rolls up months. It says which manifests it covers; a
partition that has another manifest by now is asked itself.

Derived: it can be deleted and made again at any time, and nothing that counts is decided by it. A reader that finds a file of it gone
(it was replaced meanwhile) asks the partitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import overwrite
from headrace.lake.store import Store
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.manifest import IndexEntry, Manifest
from headrace.manifests.read import manifest_of
from headrace.manifests.release import Release
from headrace.shards.index import Location, find_row, location_of, write_index
from headrace.shards.workspace import workspace
from headrace.spec.canonical import canonical_json

FORMAT: Final = 1
_COLUMNS: Final = [
    "sample_id", "source_key", "source_row", "source_member", "sample_digest", "row_group", "row", "shard", "partition",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """What the merged index covers: `partitions` maps partition keys to manifest digests; `files` are sorted and do not overlap."""

    dataset: str
    partitions: dict[str, str]
    files: tuple[IndexEntry, ...]

    @property
    def rows(self) -> int:
        return sum(entry.rows for entry in self.files)


def write_lookup(lake: Store, release: Release) -> Lookup:
    """Merge the indexes of all partitions of a release; memory holds one file of the result. Takes the place of an earlier one.

    Raises:
        SampleIdRepeated: an ID stands in two partitions, or twice in one.
    """
    before = read_lookup(lake, release.dataset)
    if before is not None and before.partitions == release.partitions:
        return before
    manifests = [manifest_of(lake, release, partition) for partition in sorted(release.partitions)]
    with workspace() as folder:
        files = write_index(
            lake,
            release.dataset,
            f"release {release.number}",
            (table for manifest in manifests for table in _index_of(lake, manifest)),
            rows=sum(entry.rows for manifest in manifests for entry in manifest.index),
            folder=folder,
            key=layout.lookup_file,
        )
    made = Lookup(dataset=release.dataset, partitions=dict(release.partitions), files=files)
    overwrite(lake, layout.lookup(release.dataset), canonical_json({"format": FORMAT, **asdict(made)}))
    for entry in () if before is None else before.files:
        if entry not in files:
            lake.delete(layout.lookup_file(release.dataset, entry.sha256))
    return made


def read_lookup(lake: Store, dataset: str) -> Lookup | None:
    """The merged index, None where nobody made one. Raises `DocumentRefused`."""
    key = layout.lookup(dataset)
    try:
        data = lake.get(key).data
    except ObjectMissing:
        return None
    try:
        fields = json.loads(data)
        found = fields["format"]
        if found == FORMAT:
            files = tuple(IndexEntry(**entry) for entry in fields["files"])
            return Lookup(dataset=fields["dataset"], partitions=fields["partitions"], files=files)
    except (ValueError, KeyError, TypeError):
        found = repr(data[:80])
    raise DocumentRefused(
        f"{lake.uri}/{key}",
        found=f"format {found}",
        expected=f"a merged index of format {FORMAT}",
        remedy="Upgrade headrace, or delete the object: `headrace index` makes it again.",
    )


def look_up(lake: Store, lookup: Lookup, sample_id: str) -> tuple[str, Location] | None:
    """The partition of a sample and its place there, None when no covered partition has it. Reads one footer and one row group."""
    try:
        row = find_row(lake, lookup.dataset, lookup.files, sample_id, key=layout.lookup_file)
    except ObjectMissing:
        return None
    if row is None:
        return None
    partition = row.pop("partition")
    return partition, location_of(row)


def _index_of(lake: Store, manifest: Manifest) -> Iterator[pa.Table]:
    """The index rows of a partition, naming it, one file at a time."""
    for entry in manifest.index:
        rows = pq.read_table(pa.BufferReader(lake.get(layout.index(manifest.dataset, entry.sha256)).data))
        if "source_member" not in rows.schema.names:
            rows = rows.append_column("source_member", pa.nulls(rows.num_rows, pa.string()))
        yield rows.append_column("partition", pa.repeat(manifest.partition, rows.num_rows)).select(_COLUMNS)
