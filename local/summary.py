"""What came out, read back from the lake: one row a day, one line a release.

Nothing is remembered from the runs; the figures are those of the manifests that LATEST names, and the sample IDs those of the index. So
the summary is also a check: what was listed and is nowhere is lost, an ID that stands twice is doubled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import latest, manifest_of
from headrace.manifests.release import Release
from headrace.spec.load import Declarations, Declared, load_declarations


@dataclass(frozen=True, kw_only=True)
class Day:
    """One day over all declarations. `checks` is passed and declared; training rows include held candidates' none."""

    day: str
    objects: int
    shards: int
    samples: int
    quarantined: int
    snapshot_rows: int
    training_rows: int
    checks_passed: int
    checks: int


@dataclass(frozen=True, kw_only=True)
class Published:
    """A release in use. `lost`: objects listed and nowhere; `doubled`: sample IDs that stand more than once."""

    dataset: str
    number: int
    digest: str
    partitions: int
    samples: int
    lost: int
    doubled: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All of it."""

    days: tuple[Day, ...]
    releases: tuple[Published, ...]

    @property
    def is_sound(self) -> bool:
        """Nothing lost, nothing twice, every declared check passed."""
        counted = all(one.lost == 0 and one.doubled == 0 for one in self.releases)
        return counted and all(day.checks_passed == day.checks for day in self.days)


def summarise(lake_uri: str, declarations: Path, days: Sequence[str]) -> Summary:
    """Read the lake for these days."""
    lake, declared = open_store(lake_uri), load_declarations(declarations)
    everything: tuple[Declared, ...] = (*declared.datasets, *declared.transforms, *declared.views, *declared.training_sets)
    names = [item.name for item in everything]
    found = {name: release.release for name in names if (release := latest(lake, name)) is not None}
    return Summary(
        days=tuple(_day(lake, declared, found, day) for day in days),
        releases=tuple(_published(lake, release) for release in found.values()),
    )


def _day(lake: Store, declared: Declarations, releases: dict[str, Release], day: str) -> Day:
    landed = [m for item in declared.datasets for m in _of_day(lake, releases.get(item.name), day)]
    transformed = [m for item in declared.transforms for m in _of_day(lake, releases.get(item.name), day)]
    snapshots = [m for item in declared.views for m in _of_day(lake, releases.get(item.name), day)]
    training = [m for item in declared.training_sets for m in _of_day(lake, releases.get(item.name), day)]
    checks = [check for manifest in training for check in _checks(lake, manifest)]
    return Day(
        day=day,
        objects=sum(m.counts.listed for m in landed),
        shards=sum(len(m.shards) for m in landed),
        samples=sum(m.counts.samples for m in landed),
        quarantined=sum(sum(m.counts.quarantined.values()) for m in (*landed, *transformed)),
        snapshot_rows=sum(m.counts.samples for m in snapshots),
        training_rows=sum(m.counts.samples for m in training),
        checks_passed=sum(check["state"] in {"ok", "insufficient"} for check in checks),
        checks=len(checks),
    )


def _of_day(lake: Store, release: Release | None, day: str) -> Iterator[Manifest]:
    """The day's partition, or all versions of the day's snapshot."""
    if release is not None:
        for partition in sorted(release.partitions):
            if partition.partition(".")[0] == day:
                yield manifest_of(lake, release, partition)


def _checks(lake: Store, manifest: Manifest) -> list[dict[str, Any]]:
    key = layout.verdict(manifest.dataset, manifest.partition, manifest.digest)
    try:
        checks: list[dict[str, Any]] = from_bytes(key, lake.get(key).data).content["checks"]
    except ObjectMissing:
        return []
    return checks


def _published(lake: Store, release: Release) -> Published:
    manifests = [manifest_of(lake, release, partition) for partition in release.partitions]
    ids = [sample_id for manifest in manifests for sample_id in _sample_ids(lake, manifest)]
    samples = sum(manifest.counts.samples for manifest in manifests)
    return Published(
        dataset=release.dataset,
        number=release.number,
        digest=release.digest,
        partitions=len(manifests),
        samples=samples,
        lost=sum(_lost(manifest) for manifest in manifests) + samples - len(ids),
        doubled=len(ids) - len(set(ids)),
    )


def _lost(manifest: Manifest) -> int:
    counts = manifest.counts
    return counts.listed - counts.read - sum(counts.skipped.values()) - sum(counts.quarantined.values())


def _sample_ids(lake: Store, manifest: Manifest) -> Iterator[str]:
    for entry in manifest.index:
        data = lake.get(layout.index(manifest.dataset, entry.sha256)).data
        table = pq.read_table(pa.BufferReader(data), columns=["sample_id"])
        yield from (str(one) for one in table.column("sample_id").to_pylist())
