"""The leakage audit in the lake: run on a candidate before it is promoted, and again by a person at any time.

What it audits is what lies in the lake: the rows are read back from their shards, and the inputs are read by the digests that the
manifest records, bucket by bucket where the training set is joined in buckets. Only the figures of the shortcuts look at what has been
published since. The outcome is stored under the manifest's digest; a candidate that fails is never promoted, because its build stops here.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import date
from typing import Any

import pyarrow as pa

from headrace.errors import FinalError
from headrace.features.leakage import SAMPLE, LeakageAudit, audit_leakage
from headrace.features.leakage_buckets import added
from headrace.features.leakage_checks import Finding
from headrace.features.material import in_buckets, recorded_versions
from headrace.features.needs import version_log_days
from headrace.features.snapshot_check import scan_snapshot
from headrace.features.training_rows import PublishedSnapshot
from headrace.features.version_log import whole_log
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.document import Document, to_bytes
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published
from headrace.manifests.run import RunIdentity
from headrace.shards.table import read_partition
from headrace.spec.canonical import plain
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet


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
    seed = f"{manifest.dataset}/{manifest.partition}/{manifest.digest}"
    share = max(1, sample // training_set.buckets)
    parts = enumerate(in_buckets(training_set, manifest, lake=lake))
    audit = added(
        (audit_leakage(training_set, rows, made_of, seed=f"{seed}/{number}", sample=share) for number, (rows, made_of) in parts),
        seed=seed,
    )
    if not from_logs:
        return audit
    scanned = [
        _from_log(view, one, seed, sample, lake=lake)
        for view in training_set.views
        for one in recorded_versions(view, manifest, lake=lake)
    ]
    return replace(audit, findings=(*audit.findings, *scanned))


def find_row(training_set: str, row: str, day: date | None, *, lake: Store) -> tuple[Manifest, dict[str, Any]]:
    """A row of the release in use, by label ID, sample ID or, within a day, number (from 0), and the manifest it stands in.

    Raises:
        RowNotFound: no day in use has it.
    """
    release = published(lake, training_set)
    for partition in [day.isoformat()] if day is not None else sorted(release.partitions):
        manifest = manifest_of(lake, release, partition)
        ids = read_partition(lake, manifest, ["label_id", "sample_id"])
        place = _place(ids, row, numbered=day is not None)
        if place is not None:
            return manifest, read_partition(lake, manifest).slice(place, 1).to_pylist()[0]
    raise RowNotFound(
        f"{training_set} release {release.number}",
        found=f"no label or sample {row!r} in {'any day' if day is None else day}",
        expected="an ID that the release holds, or a row number together with its day",
        remedy="Look it up in the training rows.",
    )


def _place(ids: pa.Table, row: str, *, numbered: bool) -> int | None:
    """The row of this label or sample ID, or, where rows may be `numbered`, of this number."""
    for column in ids.columns:
        place = next((number for number, one in enumerate(column.to_pylist()) if str(one) == row), None)
        if place is not None:
            return place
    return int(row) if numbered and row.isdecimal() and int(row) < ids.num_rows else None


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


def _from_log(view: FeatureView, one: PublishedSnapshot, seed: str, sample: int, *, lake: Store) -> Finding:
    """Against the log itself: a state that an increment went wrong with would show here."""
    days = {day.isoformat() for day in version_log_days(view, one.version.key)}
    manifest = manifest_of(lake, published(lake, view.name), str(one.version.key))
    facts = [fact for fact in manifest.facts["inputs"] if fact["dataset"] == view.log.dataset and fact["partition"] in days]
    log = whole_log(lake, view, facts)
    return scan_snapshot(view, one, log, seed=seed, sample=sample)
