"""What is there: one listing of a partition's source objects, taken once and written down.

Everything after this works from the inventory, never from a second look, so that a run is a function of what it saw. Objects that
hold no sample (folder markers, empty files, a writer's `_SUCCESS`) are skipped with a reason and counted, never silently. An inventory
lies in the lake as a Parquet table, because a partition may have millions of keys; two of them differ by what is new, changed
and gone.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.immutable import overwrite
from headrace.lake.store import ObjectInfo, Store
from headrace.spec.dataset import Dataset

FOLDER_MARKER: Final = "folder marker"
EMPTY: Final = "empty object"
HOUSEKEEPING: Final = "housekeeping file"
OTHER_SUFFIX: Final = "other suffix"
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "key": pa.binary(),
    "size_bytes": pa.int64(),
    "etag": pa.string(),
    "skipped": pa.string(),
}
_STORED: Final = pa.schema(_COLUMNS)
_STORED_ROWS: Final = 65_536
_HOUSEKEEPING_NAMES: Final = {"_SUCCESS", "_COMMITTED", ".DS_Store"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceObject:
    """One listed object: exact key, size in bytes, ETag at listing."""

    key: str
    size_bytes: int
    etag: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A listed object that holds no sample, and why."""

    key: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """The objects of one partition in the order of their keys' UTF-8 bytes."""

    partition: str
    objects: tuple[SourceObject, ...]
    skipped: tuple[Skipped, ...]

    @property
    def listed(self) -> int:
        return len(self.objects) + len(self.skipped)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over one line of JSON per object, `[key,size,etag]`, then one per skipped key, `[key,reason]`."""
        found = hashlib.sha256()
        for one in self.objects:
            found.update(_line([one.key, one.size_bytes, one.etag]))
        for skip in self.skipped:
            found.update(_line([skip.key, skip.reason]))
        return found.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What one inventory has and another has not, as keys in order."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]


def take_inventory(source: Store, dataset: Dataset, partition: str) -> Inventory:
    """List the partition's objects once. `partition` is a local date, or `all` where the prefix has no pattern.

    Raises:
        ValueError: the dataset has no such partition.
    """
    objects: list[SourceObject] = []
    skipped: list[Skipped] = []
    for info in source.list(prefix_of(dataset, partition)):
        if not _belongs(dataset, partition, info):
            continue
        why = _why_skipped(info, dataset.source.suffix)
        if why is None:
            objects.append(SourceObject(key=info.key, size_bytes=info.size_bytes, etag=info.etag))
        else:
            skipped.append(Skipped(key=info.key, reason=why))
    objects.sort(key=lambda one: _key_bytes(one.key))
    skipped.sort(key=lambda one: _key_bytes(one.key))
    return Inventory(partition=partition, objects=tuple(objects), skipped=tuple(skipped))


def prefix_of(dataset: Dataset, partition: str) -> str:
    """The key prefix of one partition. Raises ValueError for a partition the dataset cannot have."""
    pattern = dataset.source.prefix
    if "%" not in pattern and dataset.source.partition_by == "key":
        if partition != "all":
            raise ValueError(f"dataset {dataset.name} has the one partition 'all', not {partition!r}")
        return pattern
    day = date.fromisoformat(partition)
    return day.strftime(pattern) if "%" in pattern else pattern


def difference(old: Inventory, new: Inventory) -> Difference:
    """What changed from `old` to `new`; an object is the same when key, size and ETag are."""
    before = {one.key: (one.size_bytes, one.etag) for one in old.objects}
    after = {one.key: (one.size_bytes, one.etag) for one in new.objects}
    return Difference(
        new=tuple(key for key in after if key not in before),
        changed=tuple(key for key, facts in after.items() if key in before and before[key] != facts),
        gone=tuple(key for key in before if key not in after),
    )


def inventory_to_bytes(inventory: Inventory) -> bytes:
    """The inventory as a Parquet table: key, size_bytes, etag, skipped (the reason, null for an object that was to be read)."""
    sink = io.BytesIO()
    schema = _STORED.with_metadata({"partition": inventory.partition})
    with pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer:
        for first in range(0, len(inventory.objects), _STORED_ROWS):
            some = inventory.objects[first : first + _STORED_ROWS]
            rows = [{"key": _key_bytes(one.key), "size_bytes": one.size_bytes, "etag": one.etag} for one in some]
            writer.write_table(pa.Table.from_pylist(rows, schema))
        for first in range(0, len(inventory.skipped), _STORED_ROWS):
            left = inventory.skipped[first : first + _STORED_ROWS]
            writer.write_table(
                pa.Table.from_pylist([{"key": _key_bytes(one.key), "skipped": one.reason} for one in left], schema)
            )
    return sink.getvalue()


def inventory_from(data: bytes) -> Inventory:
    """The inverse of `inventory_to_bytes`."""
    table = pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
    facts = table.schema.metadata or {}
    objects: list[SourceObject] = []
    skipped: list[Skipped] = []
    for batch in table.to_batches():
        columns = (batch.column(name).to_pylist() for name in ("key", "size_bytes", "etag", "skipped"))
        for raw, size, etag, reason in zip(*columns, strict=True):
            key = raw.decode(errors="surrogateescape")
            if reason is None:
                objects.append(SourceObject(key=key, size_bytes=size, etag=etag))
            else:
                skipped.append(Skipped(key=key, reason=reason))
    return Inventory(partition=facts[b"partition"].decode(), objects=tuple(objects), skipped=tuple(skipped))


def keep_inventory(lake: Store, dataset: str, inventory: Inventory, digest: str) -> None:
    """Store an inventory under a digest, so that two manifests can be compared object by object."""
    key = layout.inventory(dataset, digest)
    if lake.head(key) is None:
        overwrite(lake, key, inventory_to_bytes(inventory))


def kept_inventory(lake: Store, dataset: str, digest: str) -> Inventory:
    """A stored inventory. Raises `ObjectMissing`."""
    return inventory_from(lake.get(layout.inventory(dataset, digest)).data)


def shown(key: str) -> str:
    r"""A key, or a text with keys in it, as a text that anything can hold: bytes that are not UTF-8 as `\xNN`."""
    return _key_bytes(key).decode(errors="backslashreplace")


def total_bytes(objects: Iterable[SourceObject]) -> int:
    """Source bytes of these objects."""
    return sum(one.size_bytes for one in objects)


def _belongs(dataset: Dataset, partition: str, info: ObjectInfo) -> bool:
    if dataset.source.partition_by == "key":
        return True
    return info.modified.astimezone(ZoneInfo(dataset.timezone)).date().isoformat() == partition


def _why_skipped(info: ObjectInfo, suffix: str) -> str | None:
    name = info.key.rpartition("/")[2]
    if name == "":
        return FOLDER_MARKER
    if info.size_bytes == 0:
        return EMPTY
    if name in _HOUSEKEEPING_NAMES or name.startswith("._") or "__MACOSX/" in info.key:
        return HOUSEKEEPING
    return None if info.key.endswith(suffix) else OTHER_SUFFIX


def _key_bytes(key: str) -> bytes:
    return key.encode(errors="surrogateescape")


def _line(values: list[str | int]) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"
