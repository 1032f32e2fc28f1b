"""Finding one sample of a release: by ID, by source key, by shard and row, by global position.

By ID, `shards/find.py` has it. A source key gives the ID where no key is declared; where one is, the indexes are scanned for it.
A position counts over the release: partitions in key order, shards in the manifest's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.ranged import RangedFile
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest, ShardEntry
from headrace.manifests.read import manifest_of
from headrace.manifests.release import Release
from headrace.shards.find import Found, find_by_id
from headrace.shards.index import Location, locate, location_of
from headrace.shards.read import read_sample
from headrace.shards.samples import position_ids
from headrace.transforms.chain import part_id
from headrace.transforms.errors import SampleNotFound


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which sample: exactly one of `sample_id`, `source_key`, `shard` (any unambiguous beginning of it), `position`.

    Attributes:
        source_row, member, part: with `source_key`: the row of the object, the file in an archive, the part it became.
        row: with `shard`: counted from 0.
        partition: look only there.
    """

    sample_id: str | None = None
    source_key: str | None = None
    source_row: int = 0
    member: str | None = None
    part: int = 0
    shard: str | None = None
    row: int = 0
    position: int | None = None
    partition: str | None = None

    def __str__(self) -> str:
        if self.sample_id is not None:
            return f"sample {self.sample_id}"
        if self.source_key is not None:
            return f"{self.source_key} row {self.source_row} part {self.part}"
        return f"position {self.position}" if self.shard is None else f"shard {self.shard} row {self.row}"


def find_sample(lake: Store, release: Release, wanted: Wanted) -> Found:
    """The sample, in the release. Raises `SampleNotFound`."""
    if wanted.shard is not None or wanted.position is not None:
        manifest, shard, row = _place(lake, release, wanted)
        sample_id = _id_at(lake, manifest, shard, row)
        return Found(manifest=manifest, sample_id=sample_id, where=locate(lake, manifest, sample_id))
    for sample_id in _ids(wanted):
        found = find_by_id(lake, release, sample_id, wanted.partition)
        if found is not None:
            return found
    if wanted.source_key is not None:
        for manifest in _manifests(lake, release, wanted):
            where = _scan(lake, manifest, wanted)
            if where is not None:
                return Found(manifest=manifest, sample_id=where.sample_id, where=where)
    raise _not_found(release, wanted, "no such sample")


def _ids(wanted: Wanted) -> list[str]:
    """The IDs a sample may have."""
    if wanted.sample_id is not None:
        return [wanted.sample_id]
    if wanted.source_key is None:
        return []
    own = position_ids(wanted.source_key, wanted.source_row + 1, wanted.member)[-1]
    return [own, part_id(own, wanted.part)]


def _manifests(lake: Store, release: Release, wanted: Wanted) -> Iterator[Manifest]:
    partitions = sorted(release.partitions) if wanted.partition is None else [wanted.partition]
    return (manifest_of(lake, release, partition) for partition in partitions)


def _place(lake: Store, release: Release, wanted: Wanted) -> tuple[Manifest, ShardEntry, int]:
    """The shard and row that a shard's name or a position means."""
    left = wanted.position
    for manifest in _manifests(lake, release, wanted):
        for shard in manifest.shards:
            if wanted.shard is not None and shard.sha256.startswith(wanted.shard) and 0 <= wanted.row < shard.rows:
                return manifest, shard, wanted.row
            if left is not None and 0 <= left < shard.rows:
                return manifest, shard, left
            left = None if left is None else left - shard.rows
    raise _not_found(release, wanted, "no such row")


def _id_at(lake: Store, manifest: Manifest, shard: ShardEntry, row: int) -> str:
    file = RangedFile(lake, layout.shard(manifest.dataset, shard.sha256), size_bytes=shard.size_bytes)
    with pq.ParquetFile(pa.PythonFile(file, mode="r"), page_checksum_verification=True) as parquet:
        first = 0
        for number in range(parquet.num_row_groups):
            rows = parquet.metadata.row_group(number).num_rows
            if row < first + rows:
                return str(parquet.read_row_group(number, columns=["sample_id"]).column(0)[row - first])
            first += rows
    raise LookupError(f"shard {shard.sha256} has no row {row}")


def _scan(lake: Store, manifest: Manifest, wanted: Wanted) -> Location | None:
    """Read the whole index for a source key: where a key is declared, an ID says nothing of its source."""
    for entry in manifest.index:
        file = RangedFile(lake, layout.index(manifest.dataset, entry.sha256), size_bytes=entry.size_bytes)
        rows = pq.read_table(pa.PythonFile(file, mode="r"))
        here = (pc.field("source_key") == wanted.source_key) & (pc.field("source_row") == wanted.source_row)
        found: list[dict[str, Any]] = rows.filter(here).to_pylist()
        for where in map(location_of, found):
            if where.source_member == wanted.member and _part_of(lake, manifest, where) == wanted.part:
                return where
    return None


def _part_of(lake: Store, manifest: Manifest, where: Location) -> int:
    """Its number among those its sample became; 0 where samples stay one."""
    if all(column.name != "part" for column in manifest.schema):
        return 0
    return int(read_sample(lake, manifest, where).column("part")[0].as_py())


def _not_found(release: Release, wanted: Wanted, found: str) -> SampleNotFound:
    rest = "" if wanted.partition is None else f" partition {wanted.partition}"
    return SampleNotFound(
        str(wanted),
        found=f"{found} in {release.dataset} release {release.number}{rest}",
        expected="a sample of that release",
        remedy="Check it; an older release may hold it (--release).",
    )
