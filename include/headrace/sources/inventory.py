"""What is there: one listing of a partition's source objects, taken once and written down.

Everything after this works from the inventory, never from a second look, so that a run is a function of what it saw. Objects that
hold no sample (folder markers, empty files, a writer's `_SUCCESS`) are skipped with a reason and counted, never silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Final

from headrace.lake.store import ObjectInfo, Store
from headrace.spec.canonical import digest_of
from headrace.spec.dataset import Dataset

FOLDER_MARKER: Final = "folder marker"
EMPTY: Final = "empty object"
HOUSEKEEPING: Final = "housekeeping file"


@dataclass(frozen=True, kw_only=True)
class SourceObject:
    """One listed object: exact key, size in bytes, ETag at listing."""

    key: str
    size_bytes: int
    etag: str


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A listed object that holds no sample, and why."""

    key: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """The objects of one partition in the order of their keys' UTF-8 bytes. `digest` is over keys, sizes and ETags."""

    partition: str
    objects: tuple[SourceObject, ...]
    skipped: tuple[Skipped, ...]

    @property
    def listed(self) -> int:
        return len(self.objects) + len(self.skipped)

    @property
    def digest(self) -> str:
        return digest_of([[o.key, o.size_bytes, o.etag] for o in self.objects])


def take_inventory(source: Store, dataset: Dataset, partition: str) -> Inventory:
    """List the partition's objects once. `partition` is a local date, or `all` where the prefix has no pattern."""
    listed = sorted(source.list(prefix_of(dataset, partition)), key=lambda o: o.key.encode(errors="surrogateescape"))
    verdicts = [(info, _why_skipped(info)) for info in listed]
    return Inventory(
        partition=partition,
        objects=tuple(
            SourceObject(key=info.key, size_bytes=info.size_bytes, etag=info.etag) for info, why in verdicts if why is None
        ),
        skipped=tuple(Skipped(key=info.key, reason=why) for info, why in verdicts if why is not None),
    )


def prefix_of(dataset: Dataset, partition: str) -> str:
    """The key prefix of one partition. Raises ValueError for a partition the pattern cannot hold."""
    pattern = dataset.source.prefix
    if "%" not in pattern:
        if partition != "all":
            raise ValueError(f"dataset {dataset.name} has the one partition 'all', not {partition!r}")
        return pattern
    return date.fromisoformat(partition).strftime(pattern)


def _why_skipped(info: ObjectInfo) -> str | None:
    name = info.key.rpartition("/")[2]
    if name == "":
        return FOLDER_MARKER
    if info.size_bytes == 0:
        return EMPTY
    if name in {"_SUCCESS", "_COMMITTED", ".DS_Store"} or name.startswith("._") or "__MACOSX/" in info.key:
        return HOUSEKEEPING
    return None
