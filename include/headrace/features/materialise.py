"""One version of one day's snapshot, from the released log to a release of the view.

A version is published once. Running it again with the same log changes nothing. When the log was changed behind its back, a live day is
refused: its rows were served and trained on, so a later look is a rebuild with its own knowledge time. A day before the system ran
was served to nobody: its version is made again from the corrected log, in a new release (the old release keeps the old one).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Final

import pyarrow as pa

from headrace.features.fingerprint import view_fingerprint
from headrace.features.snapshot import Snapshot, compute_snapshot
from headrace.features.states import keep_state
from headrace.features.version_log import VersionLog, read_version_log
from headrace.features.versions import SnapshotKey, SnapshotVersion, version_to_publish
from headrace.lake.store import Store
from headrace.manifests.errors import VersionExists
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import publish, write_candidate
from headrace.manifests.read import latest, manifest_of, read_manifest
from headrace.manifests.release import Release
from headrace.manifests.run import RunIdentity
from headrace.shards.table import WrittenTable, write_table
from headrace.spec.canonical import digest_of, instant_from, instant_text
from headrace.spec.feature_view import FeatureView

VERSION_COLUMN: Final = "snapshot"


@dataclass(frozen=True, kw_only=True)
class Materialised:
    """A published version; `completeness` is as known at the time of the run, `how` says what was read."""

    manifest: Manifest
    release: Release
    version: SnapshotVersion
    completeness: dict[str, Any]
    how: str


def materialise(view: FeatureView, key: SnapshotKey, run: RunIdentity, *, lake: Store, clock: datetime) -> Materialised:
    """Compute and publish one version.

    Args:
        clock: the real time, read once.

    Raises:
        TooEarlyError: the clock stands before the knowledge time.
        VersionExists: the version of a live day is published with other rows.
        NotPublished: a day of the log is not there.
    """
    before = _existing(lake, view.name, str(key))
    version = version_to_publish(view, key, clock=clock, existing=None if before is None else version_of(before))
    log = read_version_log(lake, view, key)
    snapshot = compute_snapshot(log.rows, view, key.day, key.knowledge)
    written = write_table(
        lake,
        view.name,
        snapshot.rows.append_column(VERSION_COLUMN, pa.array([str(key)] * snapshot.rows.num_rows, pa.string())),
        key=(VERSION_COLUMN, *view.entity),
        computed_from=f"{view.log.dataset}@{key.day.isoformat()}",
    )
    manifest = _manifest(view, version, log, snapshot, written)
    if before is not None and before.shards == manifest.shards:
        manifest = before
    digest = write_candidate(lake, manifest, run.document())
    release = publish(lake, view.name, lambda partitions: _with_version(view.name, partitions, version, digest), run.document())
    if view.log.by_arrival:
        keep_state(lake, view, key, log.facts, log.rows)
    return Materialised(
        manifest=manifest, release=release, version=version, completeness=plain_completeness(snapshot), how=log.how
    )


def version_of(manifest: Manifest) -> SnapshotVersion:
    """The version a snapshot's manifest describes."""
    facts = manifest.facts["snapshot"]
    return SnapshotVersion(
        key=SnapshotKey.parse(manifest.partition), published_at=instant_from(facts["published_at"]), synthetic=facts["synthetic"]
    )


def versions_between(lake: Store, view: FeatureView, first: date, last: date) -> list[SnapshotVersion]:
    """The published versions of the days from `first` to `last`, both inclusive; reads those days' manifests only."""
    found = latest(lake, view.name)
    if found is None:
        return []
    keys = [SnapshotKey.parse(partition) for partition in found.release.partitions]
    return [version_of(manifest_of(lake, found.release, str(key))) for key in keys if first <= key.day <= last]


def plain_completeness(snapshot: Snapshot) -> dict[str, Any]:
    """The completeness report as JSON values."""
    return {name: value for name, value in asdict(snapshot.completeness).items() if isinstance(value, int | float | str | None)}


def _existing(lake: Store, dataset: str, partition: str) -> Manifest | None:
    found = latest(lake, dataset)
    digest = None if found is None else found.release.partitions.get(partition)
    return None if digest is None else read_manifest(lake, dataset, partition, digest)


def _with_version(view: str, partitions: dict[str, str], version: SnapshotVersion, digest: str) -> dict[str, str]:
    key = str(version.key)
    there = partitions.get(key)
    if there is not None and there != digest and not version.synthetic:
        raise VersionExists(
            f"{view} {key}",
            found=f"published with manifest {there}",
            expected=f"the same rows, manifest {digest}",
            remedy="The log was changed after this version was published. Publish a rebuild with a later knowledge time.",
        )
    return {**partitions, key: digest}


def _manifest(
    view: FeatureView, version: SnapshotVersion, log: VersionLog, snapshot: Snapshot, written: WrittenTable
) -> Manifest:
    inputs = len(log.facts)
    return Manifest(
        dataset=view.name,
        partition=str(version.key),
        shards=written.uploaded.shards,
        index=written.uploaded.index,
        schema=written.schema,
        counts=Counts(listed=inputs, read=inputs, skipped={}, quarantined={}, samples=written.rows),
        inventory_digest=log.digest,
        declaration_digest=digest_of(view),
        facts={
            "inputs": log.facts,
            "snapshot": _facts(view, version, snapshot),
        },
    )


def _facts(view: FeatureView, version: SnapshotVersion, snapshot: Snapshot) -> dict[str, Any]:
    """What the manifest says of the snapshot itself."""
    return {
        "day": version.key.day.isoformat(),
        "kind": str(version.key.kind),
        "timezone": view.cutoff.timezone,
        "cut_at": view.cutoff.cut_at,
        "zone_data": snapshot.zone_data,
        "begins": instant_text(snapshot.begins),
        "ends": instant_text(snapshot.ends),
        "settlement_seconds": int(view.cutoff.settlement.total_seconds()),
        "knowledge": instant_text(version.key.knowledge),
        "published_at": instant_text(version.published_at),
        "synthetic": version.synthetic,
        "rows": asdict(snapshot.counts),
        "code": view_fingerprint(view),
    }
