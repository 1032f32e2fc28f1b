"""From a sample ID to its partition and place in a release: the one way, for everything that is given an ID.

The index over all partitions answers where there is one (`lookup.py`), for the manifests it covers: three objects are read with the
sample itself, whatever the number of days (index, manifest, shard). Each other partition is asked itself: its manifest, and one row group
of its own index (`index.py`). Where several know an ID, the one that has the sample goes before those that refused it, and of these the
last: what the merged index holds is what asking everyone gives.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of
from headrace.manifests.release import Release
from headrace.shards.index import Location, locate
from headrace.shards.lookup import look_up

_PARTITIONS_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True)
class Found:
    """A sample's partition, and its place there; `where` is None for one that failed, or an object that was refused."""

    manifest: Manifest
    sample_id: str
    where: Location | None


def find_by_id(lake: Store, release: Release, sample_id: str, partition: str | None = None) -> Found | None:
    """The sample with that ID (or the record in quarantine), None when the release has none.

    Args:
        partition: look only there.

    Raises:
        NotPublished: the release has no such partition.
    """
    partitions = sorted(release.partitions) if partition is None else [partition]
    answer = look_up(lake, release.dataset, sample_id) if len(partitions) > 1 else None
    if answer is None:
        return _asked(lake, release, partitions, sample_id)
    rest = [one for one in partitions if answer.covered.get(one) != release.partitions[one]]
    if answer.partition is None:
        return _asked(lake, release, rest, sample_id)
    if answer.covered[answer.partition] == release.partitions.get(answer.partition):
        own = Found(manifest=manifest_of(lake, release, answer.partition), sample_id=sample_id, where=answer.where)
        return own if own.where is not None else _better(_asked(lake, release, rest, sample_id), own)
    found = _asked(lake, release, rest, sample_id)
    # What it knew is replaced, and may have stood before what an older partition knows.
    return found if found is not None and found.where is not None else _asked(lake, release, partitions, sample_id)


def _better(one: Found | None, other: Found | None) -> Found | None:
    """Of what two partitions know of an ID: the sample before a refusal, the later partition's before the earlier's."""
    known = [found for found in (one, other) if found is not None]
    return max(known, key=lambda found: (found.where is not None, found.manifest.partition), default=None)


def _asked(lake: Store, release: Release, partitions: list[str], sample_id: str) -> Found | None:
    """Ask partitions themselves, sixteen at a time from the last to the first, until one has the sample."""

    def look(partition: str) -> Found | None:
        manifest = manifest_of(lake, release, partition)
        where = locate(lake, manifest, sample_id)
        is_refused = any(item["record"] == sample_id for item in manifest.facts.get("quarantined", []))
        return None if where is None and not is_refused else Found(manifest=manifest, sample_id=sample_id, where=where)

    with ThreadPoolExecutor(_PARTITIONS_AT_ONCE, thread_name_prefix="headrace-find") as pool:
        newest_first, best = partitions[::-1], None
        for start in range(0, len(partitions), _PARTITIONS_AT_ONCE):
            for found in pool.map(look, newest_first[start : start + _PARTITIONS_AT_ONCE]):
                best = _better(best, found)
            if best is not None and best.where is not None:
                return best
    return best
