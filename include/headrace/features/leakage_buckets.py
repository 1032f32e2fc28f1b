"""The leakage audit of a day that was joined in buckets: bucket by bucket, so that it needs no more memory at once than a bucket's join.

Every check asks about one label, or builds rows again from what is said of the labels' own entities; so the findings of the buckets add up
to those of the day. *Cut* is even stricter: each bucket is cut at its own last label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.features.buckets import bucket_column, said_of
from headrace.features.leakage import LeakageAudit, Material, audit_leakage
from headrace.features.leakage_checks import SHOWN, Finding
from headrace.features.naive import NaiveLeak
from headrace.features.training_rows import PublishedSnapshot
from headrace.spec.training_set import TrainingSet


def audit_in_buckets(training_set: TrainingSet, rows: pa.Table, made_of: Material, *, seed: str, sample: int) -> LeakageAudit:
    """`audit_leakage` over the training set's buckets; of each, a share of the sample, but at least one label, is answered by scan."""
    if training_set.buckets == 1 or rows.num_rows != made_of.labels.num_rows:
        return audit_leakage(training_set, rows, made_of, seed=seed, sample=sample)
    bucket = bucket_column(made_of.labels, training_set.labels.entity, training_set.buckets)
    audits = []
    for number in np.unique(bucket).tolist():
        places = pa.array(np.flatnonzero(bucket == number), pa.int64())
        part = _part(training_set, made_of, made_of.labels.take(places))
        share = max(1, sample // training_set.buckets)
        audits.append(audit_leakage(training_set, rows.take(places), part, seed=f"{seed}/{number}", sample=share))
    if not audits:
        return audit_leakage(training_set, rows, made_of, seed=seed, sample=sample)
    return LeakageAudit(
        rows=rows.num_rows,
        seed=seed,
        findings=tuple(_findings(same) for same in zip(*(one.findings for one in audits), strict=True)),
        naive=tuple(_naive(same) for same in zip(*(one.naive for one in audits), strict=True)),
    )


def _part(training_set: TrainingSet, made_of: Material, labels: pa.Table) -> Material:
    def kept(view: str, given: Sequence[PublishedSnapshot]) -> list[PublishedSnapshot]:
        entity = next(one.entity for one in training_set.views if one.name == view)
        return [replace(one, rows=said_of(one.rows, entity, labels)) for one in given]

    return Material(
        labels=labels,
        snapshots={view: kept(view, given) for view, given in made_of.snapshots.items()},
        logs={join.name: said_of(made_of.logs[join.name], join.entity, labels) for join in training_set.logs},
        published={view: kept(view, given) for view, given in made_of.published.items()},
    )


def _findings(same: Sequence[Finding]) -> Finding:
    """One check of one source, over all buckets."""
    examples = [example for one in same for example in one.examples]
    return replace(
        same[0],
        labels=sum(one.labels for one in same),
        wrong=sum(one.wrong for one in same),
        examples=tuple(examples[:SHOWN]),
    )


def _naive(same: Sequence[NaiveLeak]) -> NaiveLeak:
    return replace(
        same[0],
        labels=sum(one.labels for one in same),
        leaked=sum(one.leaked for one in same),
        changed=sum(one.changed for one in same),
    )
