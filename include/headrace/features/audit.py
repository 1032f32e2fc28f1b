"""The leakage audit in the lake: run on a candidate before it is promoted, and again by a person at any time.

What it audits is what lies in the lake: the rows are read back from their shards, and the inputs are read by the digests that the
manifest records. Only the figures of the shortcuts look at what has been published since. The outcome is stored under the
manifest's digest; a candidate that fails is never promoted, because its build stops here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np

from headrace.errors import FinalError
from headrace.features.functions import rows_function
from headrace.features.inputs import inputs_from
from headrace.features.leakage import SAMPLE, LeakageAudit, Material, audit_leakage
from headrace.features.leakage_checks import Finding
from headrace.features.materialise import version_of, versions_between
from headrace.features.needs import joined_log_days, log_days
from headrace.features.snapshot_check import scan_snapshot
from headrace.features.training_rows import PublishedSnapshot
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.document import Document, to_bytes
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published, read_manifest
from headrace.manifests.run import RunIdentity
from headrace.shards.table import read_partition
from headrace.spec.canonical import plain
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet

_BEFORE: Final = timedelta(days=2)
"""How many days of versions before the labels' day the figures of the shortcuts look at."""


class LeakageFound(FinalError):
    """Training rows that contradict what was known at their labels' time. Another try finds the same."""


class RowNotFound(FinalError, LookupError):
    """A training row that is not there."""

    __str__ = FinalError.__str__  # LookupError would print the tuple of its arguments


def audit_candidate(training_set: TrainingSet, manifest: Manifest, run: RunIdentity, *, lake: Store) -> LeakageAudit:
    """Audit one day's candidate and store what was found, whatever it is.

    Raises:
        LeakageFound: some check failed; the candidate stays in the lake and is not to be promoted.
    """
    audit = audit_partition(training_set, manifest, lake=lake)
    store_audit(lake, manifest, audit, run)
    refuse_leakage(manifest, audit, where=f"{lake.uri}/{layout.leakage(manifest.dataset, manifest.partition, manifest.digest)}")
    return audit


def audit_partition(
    training_set: TrainingSet, manifest: Manifest, *, lake: Store, sample: int = SAMPLE, from_logs: bool = False
) -> LeakageAudit:
    """Audit one stored day. Writes nothing.

    Args:
        sample: how many labels and, of each snapshot, how many entities are answered by scan.
        from_logs: whether to also compute the snapshots' features again, by scan, from the logs behind them.
    """
    made_of = material(training_set, manifest, lake=lake)
    rows = read_partition(lake, manifest).select([column.name for column in manifest.schema if column.name not in IDENTITY])
    seed = f"{manifest.dataset}/{manifest.partition}/{manifest.digest}"
    audit = audit_leakage(training_set, rows, made_of, seed=seed, sample=sample)
    if not from_logs:
        return audit
    scanned = [
        _from_log(view, one, seed, sample, lake=lake) for view in training_set.views for one in made_of.snapshots[view.name]
    ]
    return replace(audit, findings=(*audit.findings, *scanned))


IDENTITY: Final = ("sample_id", "source_key", "source_etag", "source_row", "sample_digest")
"""The columns that every shard has before the rows' own."""


def material(training_set: TrainingSet, manifest: Manifest, *, lake: Store) -> Material:
    """What a stored day was made of, read by the digests it records, and what is published around it by now."""
    day = date.fromisoformat(manifest.partition)
    inputs = manifest.facts["inputs"]
    labels = inputs_from(lake, [one for one in inputs if _is(one, training_set.labels.dataset, [manifest.partition])])
    snapshots = {
        view.name: [_read(lake, view, read_manifest(lake, **_named(one))) for one in inputs if one["dataset"] == view.name]
        for view in training_set.views
    }
    logs = {}
    for join in training_set.logs:
        days = [one.isoformat() for one in joined_log_days(training_set, join, day)]
        logs[join.name] = rows_function(join.log.rows)(
            inputs_from(lake, [one for one in inputs if _is(one, join.log.dataset, days)]).rows
        )
    around = {view.name: _around(lake, view, snapshots[view.name], day) for view in training_set.views}
    return Material(labels=rows_function(training_set.labels.rows)(labels.rows), snapshots=snapshots, logs=logs, published=around)


def find_row(training_set: str, row: str, day: date | None, *, lake: Store) -> tuple[Manifest, dict[str, Any]]:
    """A row of the release in use, by label ID, sample ID or, within a day, number (from 0), and the manifest it stands in.

    Raises:
        RowNotFound: no day in use has it.
    """
    release = published(lake, training_set)
    for partition in [day.isoformat()] if day is not None else sorted(release.partitions):
        manifest = manifest_of(lake, release, partition)
        rows = read_partition(lake, manifest)
        for name in ("label_id", "sample_id"):
            there = np.flatnonzero(np.array([str(one) == row for one in rows.column(name).to_pylist()], dtype=bool))
            if there.size > 0:
                return manifest, rows.slice(int(there[0]), 1).to_pylist()[0]
        if day is not None and row.isdecimal() and int(row) < rows.num_rows:
            return manifest, rows.slice(int(row), 1).to_pylist()[0]
    raise RowNotFound(
        f"{training_set} release {release.number}",
        found=f"no label or sample {row!r} in {'any day' if day is None else day}",
        expected="an ID that the release holds, or a row number together with its day",
        remedy="Look it up in the training rows.",
    )


def store_audit(lake: Store, manifest: Manifest, audit: LeakageAudit, run: RunIdentity) -> None:
    """Write the outcome under the manifest's digest; a later audit replaces it, because its figures know more."""
    key = layout.leakage(manifest.dataset, manifest.partition, manifest.digest)
    current = lake.head(key)
    document = Document(content=as_document(audit), run=run.document())
    lake.swap(key, to_bytes(document), expected=None if current is None else current.etag)


def as_document(audit: LeakageAudit) -> dict[str, Any]:
    """The audit as JSON values."""
    found: dict[str, Any] = plain({**asdict(audit), "passes": not audit.failed})
    return found


def refuse_leakage(manifest: Manifest, audit: LeakageAudit, *, where: str) -> None:
    """Raise `LeakageFound` unless every finding is clean."""
    if audit.failed:
        first = audit.failed[0]
        count = sum(finding.wrong for finding in audit.failed)
        raise LeakageFound(
            f"{manifest.dataset} {manifest.partition}",
            found=f"{count} rows against the audit; check {first.check!r} of {first.source}: {'; '.join(first.examples[:1])}",
            expected="rows that hold only what was known at their labels' time",
            remedy=f"Read {where}. The candidate is kept and not released; report it with that file.",
        )


def _is(one: dict[str, str], dataset: str, partitions: Iterable[str]) -> bool:
    return one["dataset"] == dataset and one["partition"] in partitions


def _named(one: dict[str, str]) -> dict[str, str]:
    return {"dataset": one["dataset"], "partition": one["partition"], "digest": one["manifest"]}


def _read(lake: Store, view: FeatureView, manifest: Manifest) -> PublishedSnapshot:
    return PublishedSnapshot(version=version_of(manifest), rows=read_partition(lake, manifest, [*view.entity, *view.features]))


def _around(lake: Store, view: FeatureView, used: list[PublishedSnapshot], day: date) -> list[PublishedSnapshot]:
    """The versions of the labels' day and the days just before it, as published by now, without those in hand."""
    known = {one.version.key for one in used}
    found = versions_between(lake, view, day - _BEFORE, day)
    if not found:
        return []
    release = published(lake, view.name)
    return [_read(lake, view, manifest_of(lake, release, str(one.key))) for one in found if one.key not in known]


def _from_log(view: FeatureView, one: PublishedSnapshot, seed: str, sample: int, *, lake: Store) -> Finding:
    days = {day.isoformat() for day in log_days(view, one.version.key.day)}
    manifest = manifest_of(lake, published(lake, view.name), str(one.version.key))
    log = inputs_from(lake, [fact for fact in manifest.facts["inputs"] if _is(fact, view.log.dataset, days)])
    return scan_snapshot(view, one, rows_function(view.log.rows)(log.rows), seed=seed, sample=sample)
