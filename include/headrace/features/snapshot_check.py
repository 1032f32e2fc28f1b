"""A published snapshot against the log behind it: some entities' features again, by scan from the definitions."""

from __future__ import annotations

import random

import pyarrow as pa

from headrace.features.leakage_checks import Finding, finding
from headrace.features.scan import rows_of, scan_features
from headrace.features.training_rows import PublishedSnapshot
from headrace.spec.feature_view import FeatureView


def scan_snapshot(view: FeatureView, snapshot: PublishedSnapshot, log: pa.Table, *, seed: str, sample: int) -> Finding:
    """Compare a seeded sample of entities, those with a row in the snapshot and those only in the log alike.

    Args:
        log: what the view's rows function returned over the days of `needs.version_log_days`.
    """
    key = snapshot.version.key
    stored = {tuple(row[name] for name in view.entity): row for row in snapshot.rows.to_pylist()}
    there = zip(*(log.column(name).to_pylist() for name in view.entity), strict=True)
    everyone = sorted({*stored, *(one for one in there if None not in one)}, key=repr)
    chosen = random.Random(seed).sample(everyone, min(sample, len(everyone)))  # noqa: S311 - a sample, not a secret
    rows = rows_of(log, view.entity, chosen)
    wrong = []
    for one in chosen:
        expected = scan_features(rows[one], view, key.day, key.knowledge)
        row = stored.get(one)
        found = None if row is None else {name: row[name] for name in view.features}
        if found != expected:
            wrong.append(f"{view.name} {key} {one}: expected {expected}, found {found}")
    return finding("from the log", f"{view.name} {key}", len(chosen), wrong)
