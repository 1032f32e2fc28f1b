"""What two releases of a dataset do not have in common, down to shards and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import read_manifest
from headrace.manifests.release import Release


@dataclass(frozen=True, kw_only=True)
class PartitionChange:
    """One partition that differs. Bytes and shards count what the newer has and the older has not, and the other way round."""

    partition: str
    kind: Literal["added", "changed", "removed"]
    samples_before: int
    samples_after: int
    shards_kept: int
    shards_new: int
    shards_gone: int
    bytes_new: int
    inventory_before: str | None
    inventory_after: str | None


def compare(store: Store, old: Release, new: Release) -> list[PartitionChange]:
    """The partitions that differ, in key order. Reads only the manifests of those."""
    names = sorted(old.partitions.keys() | new.partitions.keys())
    return [_change(store, name, old, new) for name in names if old.partitions.get(name) != new.partitions.get(name)]


def _change(store: Store, partition: str, old: Release, new: Release) -> PartitionChange:
    before, after = _manifest(store, old, partition), _manifest(store, new, partition)
    shards_before = {} if before is None else {shard.sha256: shard for shard in before.shards}
    shards_after = {} if after is None else {shard.sha256: shard for shard in after.shards}
    fresh = shards_after.keys() - shards_before.keys()
    return PartitionChange(
        partition=partition,
        kind="added" if before is None else "removed" if after is None else "changed",
        samples_before=0 if before is None else before.counts.samples,
        samples_after=0 if after is None else after.counts.samples,
        shards_kept=len(shards_before.keys() & shards_after.keys()),
        shards_new=len(fresh),
        shards_gone=len(shards_before.keys() - shards_after.keys()),
        bytes_new=sum(shards_after[sha256].size_bytes for sha256 in fresh),
        inventory_before=None if before is None else before.inventory_digest,
        inventory_after=None if after is None else after.inventory_digest,
    )


def _manifest(store: Store, release: Release, partition: str) -> Manifest | None:
    digest = release.partitions.get(partition)
    return None if digest is None else read_manifest(store, release.dataset, partition, digest)
