"""One index over all partitions of a release: from a sample ID to its partition, in reads that do not grow with the days.

Each partition has an index of its own (`index.py`), and IDs are hashes that say nothing of their day: without this, a sample known by its
ID alone is asked for in every partition. The merged index costs what the IDs cost, about a thousandth of the samples' bytes, but of the
whole history, so no run pays it: `headrace index` does, now and then, as one rolls up months.

It is sixteen files, named by the first hex digit of the IDs they hold, so a reader knows which one to open and reads nothing before it.
Each says in its footer which manifests it covers, so each is right by itself, whichever run wrote the others. Samples that failed and
objects that were refused stand in it too, without a place: what no covered partition knows is answered without asking one. An object
may move to another day, when its key or its LastModified does, while the old day is not run again. Refused on both, it stands here for
the later; refused on one and read on the other, where it was read. Read on both it breaks the law that a sample stands in one shard, and
that is an error that names both days.

Derived: it can be deleted and made again at any time, and nothing that counts is decided by it. A reader that finds a file gone or
replaced as it reads asks the partitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.errors import ObjectChanged, ObjectMissing
from headrace.lake.immutable import upload_verified
from headrace.lake.ranged import RangedFile
from headrace.lake.store import Store
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of
from headrace.manifests.release import Release
from headrace.shards.index import GROUP_ROWS, Location, location_of, opened_index, range_count, ranges, row_of, sorted_once
from headrace.shards.parquet import ParquetStyle, write_tables
from headrace.shards.workspace import workspace
from headrace.spec.canonical import canonical_json

FORMAT: Final = 2
DIGITS: Final = "0123456789abcdef"
METADATA_KEY: Final = b"headrace.lookup"
_REMEDY: Final = (
    "Where an object moved to another day (by its LastModified), run its old day again, which lists it no more. "
    "Else the declared key does not name a sample for ever: add a column to it."
)
_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("sample_id", pa.string(), nullable=False),
    pa.field("source_key", pa.string()),
    pa.field("source_row", pa.int64()),
    pa.field("source_member", pa.string()),
    pa.field("sample_digest", pa.string()),
    pa.field("row_group", pa.int32()),
    pa.field("row", pa.int64()),
    pa.field("shard", pa.string()),
    pa.field("partition", pa.string(), nullable=False),
]
_SCHEMA: Final = pa.schema(_FIELDS)


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """One file of the merged index: manifest digests by partition (what it covers), its IDs, and its size."""

    partitions: dict[str, str]
    rows: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the merged index says of one ID.

    Attributes:
        covered: manifest digests by partition; of any other manifest it says nothing.
        partition: where the ID stands; None where no covered manifest has it.
        where: its place; None also for a sample that failed, or an object that was refused.
    """

    covered: dict[str, str]
    partition: str | None
    where: Location | None


def write_lookup(lake: Store, release: Release) -> list[Lookup]:
    """Merge the indexes of all partitions of a release; memory holds one range of the IDs. Returns the files, by digit.

    Raises:
        SampleIdRepeated: an ID stands in two partitions, or twice in one.
        DocumentRefused: what is there is of a newer format.
    """
    before = [lookup_of(lake, release.dataset, digit) for digit in DIGITS]
    if any(one is None or one.partitions != release.partitions for one in before):
        _merge(lake, release)
        before = [lookup_of(lake, release.dataset, digit) for digit in DIGITS]
    return [one for one in before if one is not None]


def lookup_of(lake: Store, dataset: str, digit: str) -> Lookup | None:
    """One file of the merged index, None where nobody made one. Raises `DocumentRefused`."""
    try:
        key, file = _file(lake, dataset, digit)
        with opened_index(file) as parquet:
            return Lookup(
                partitions=_covered(f"{lake.uri}/{key}", parquet), rows=parquet.metadata.num_rows, size_bytes=file.size()
            )
    except (ObjectMissing, ObjectChanged):
        return None


def look_up(lake: Store, dataset: str, sample_id: str) -> Answer | None:
    """Ask the merged index: one object, its footer and one row group. None where there is no such file.

    Raises:
        DocumentRefused: it is of a newer format.
    """
    try:
        key, file = _file(lake, dataset, sample_id[:1])
        with opened_index(file) as parquet:
            covered, row = _covered(f"{lake.uri}/{key}", parquet), row_of(parquet, sample_id)
    except (ObjectMissing, ObjectChanged):
        return None
    if row is None:
        return Answer(covered=covered, partition=None, where=None)
    partition = row.pop("partition")
    return Answer(covered=covered, partition=partition, where=None if row["shard"] is None else location_of(row))


def _merge(lake: Store, release: Release) -> None:
    manifests = [manifest_of(lake, release, partition) for partition in sorted(release.partitions)]
    parts = chain.from_iterable([*(_rows_of(lake, manifest) for manifest in manifests), [_refused_in(manifests)]])
    rows = sum(entry.rows for manifest in manifests for entry in manifest.index)
    ranges_a_digit = max(range_count(rows // len(DIGITS)), 1)
    with workspace() as folder:
        about = f"{release.dataset} release {release.number}"
        found, written = ranges(parts, len(DIGITS) * ranges_a_digit, folder), set()
        for number, group in groupby(found, key=lambda one: one[0] // ranges_a_digit):
            written.add(DIGITS[number])
            merged = (sorted_once(about, _read_or_refused(rows), remedy=_REMEDY) for _, rows in group)
            _write(lake, release, DIGITS[number], merged, folder)
        for digit in sorted(set(DIGITS) - written):
            _write(lake, release, digit, iter(()), folder)
    for info in lake.list(layout.lookups(release.dataset)):
        if info.key not in {layout.lookup(release.dataset, digit) for digit in DIGITS}:
            lake.delete(info.key)  # of an earlier format


def _write(lake: Store, release: Release, digit: str, tables: Iterator[pa.Table], folder: Path) -> None:
    covers = canonical_json({"format": FORMAT, "dataset": release.dataset, "partitions": release.partitions})
    schema, path = _SCHEMA.with_metadata({METADATA_KEY: covers}), folder / f"{digit}.parquet"
    rows = (table.replace_schema_metadata(schema.metadata) for table in tables)
    sha256 = write_tables(path, rows, schema, ParquetStyle(), group_rows=GROUP_ROWS)
    upload_verified(lake, layout.lookup(release.dataset, digit), path, sha256=sha256)
    path.unlink()


def _file(lake: Store, dataset: str, digit: str) -> tuple[str, RangedFile]:
    """One file, as it is now: replaced while it is read, it raises `ObjectChanged`."""
    key = layout.lookup(dataset, digit)
    info = lake.head(key)
    if info is None:
        raise ObjectMissing(f"{lake.uri}/{key}", found="no object", expected="an index", remedy="Run `headrace index`.")
    return key, RangedFile(lake, key, size_bytes=info.size_bytes, etag=info.etag)


def _covered(where: str, parquet: pq.ParquetFile) -> dict[str, str]:
    told = (parquet.metadata.metadata or {}).get(METADATA_KEY, b"{}")
    fields: dict[str, Any] = json.loads(told)
    if fields.get("format") != FORMAT:
        raise DocumentRefused(
            where,
            found=f"format {fields.get('format')}",
            expected=f"a merged index of format {FORMAT}",
            remedy="Upgrade headrace, or delete the object: `headrace index` makes it again.",
        )
    covered: dict[str, str] = fields["partitions"]
    return covered


def _rows_of(lake: Store, manifest: Manifest) -> Iterator[pa.Table]:
    """The index rows of a partition, one file at a time; each names the partition."""
    for entry in manifest.index:
        rows = pq.read_table(pa.BufferReader(lake.get(layout.index(manifest.dataset, entry.sha256)).data))
        yield _whole(rows.append_column("partition", pa.repeat(manifest.partition, rows.num_rows)))


def _refused_in(manifests: list[Manifest]) -> pa.Table:
    """A row for each record of what failed or was refused: of several with one name, that of the last partition."""
    records = {
        item["record"]: {"sample_id": item["record"], "source_key": item["key"], "partition": manifest.partition}
        for manifest in manifests
        for item in manifest.facts.get("quarantined", [])
    }
    return _whole(pa.Table.from_pylist(list(records.values()), _SCHEMA))


def _whole(rows: pa.Table) -> pa.Table:
    """Rows with every column of the merged index, null where they have none."""
    columns = [
        rows.column(field.name) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type) for field in _SCHEMA
    ]
    return pa.Table.from_arrays(columns, names=_SCHEMA.names).cast(_SCHEMA)


def _read_or_refused(rows: pa.Table) -> pa.Table:
    """Without the records of what was read after all, on another day."""
    has_place = rows.column("shard").is_valid()
    was_read = pc.is_in(rows.column("sample_id"), value_set=rows.filter(has_place).column("sample_id"))
    return rows.filter(pc.or_(has_place, pc.invert(was_read)))
