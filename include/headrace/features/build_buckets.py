"""A day of a training set joined in buckets, by tasks that know nothing of each other.

    plan = plan_join(training_set, day)              which partitions, by their manifests: all tasks read the same
    join_bucket(training_set, plan, bucket)          for each bucket, anywhere, in any order, again if need be
    gather(training_set, plan)                       the candidate

Labels are spread by the hash of their entity; a bucket's task keeps of every snapshot and log the rows of its own labels' entities. Each
label is answered from what is said about its entity alone, so the rows are those of one join over everything, and the candidate has the
bytes of `build_candidate`, whatever the number of buckets.

A task holds one day of labels as they come, one snapshot version or one log at a time as they come (of a log partitioned by arrival only a
partition), and what belongs to its bucket; `gather` holds the day's finished rows, because what is observed of them may look at all.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import FinalError
from headrace.features.buckets import bucket_column
from headrace.features.build import Joined, SourceManifests, all_inputs, find_sources, read_from, store_candidate
from headrace.features.columns import integers
from headrace.features.fingerprint import view_fingerprint
from headrace.features.functions import rows_function
from headrace.features.inputs import fact_of
from headrace.features.training_rows import training_rows
from headrace.lake import layout
from headrace.lake.immutable import overwrite
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published, read_manifest
from headrace.manifests.run import RunIdentity
from headrace.shards.table import read_partition
from headrace.spec.canonical import canonical_json, digest_of
from headrace.spec.training_set import TrainingSet

_PLACE: Final = "__place"
"""The row's place among the day's labels, in the parts; no entity column or feature starts with an underscore."""


class PartsMissing(FinalError):
    """The parts of a join do not make the whole."""


@dataclass(frozen=True, kw_only=True)
class JoinPlan:
    """What one day is joined from, and in how many buckets. Equal plans have equal digests and equal parts."""

    day: date
    buckets: int
    labels: Manifest
    sources: SourceManifests
    code: dict[str, str]

    @property
    def document(self) -> dict[str, Any]:
        found = {
            name: {source: [fact_of(one) for one in manifests] for source, manifests in group.items()}
            for name, group in (("snapshots", self.sources.snapshots), ("logs", self.sources.logs))
        }
        return {"format": 1, "day": self.day, "buckets": self.buckets, "labels": fact_of(self.labels), **found, "code": self.code}

    @property
    def digest(self) -> str:
        return digest_of(self.document)


def plan_join(training_set: TrainingSet, day: date, *, lake: Store) -> JoinPlan:
    """Decide and store what every bucket of the day reads. Raises NotPublished as `join_day`."""
    plan = JoinPlan(
        day=day,
        buckets=training_set.buckets,
        labels=manifest_of(lake, published(lake, training_set.labels.dataset), day.isoformat()),
        sources=find_sources(training_set, day, lake=lake),
        code={source.name: view_fingerprint(source) for source in training_set.sources},
    )
    overwrite(lake, layout.join_plan(training_set.name, day.isoformat(), plan.digest), canonical_json(plan.document))
    return plan


def read_plan(training_set: str, day: date, digest: str, *, lake: Store) -> JoinPlan:
    """A stored plan by its digest."""
    stored = json.loads(lake.get(layout.join_plan(training_set, day.isoformat(), digest)).data)
    groups = [
        {source: tuple(_manifest(lake, one) for one in facts) for source, facts in stored[name].items()}
        for name in ("snapshots", "logs")
    ]
    return JoinPlan(
        day=day,
        buckets=stored["buckets"],
        labels=_manifest(lake, stored["labels"]),
        sources=SourceManifests(snapshots=groups[0], logs=groups[1]),
        code=stored["code"],
    )


def join_bucket(training_set: TrainingSet, plan: JoinPlan, bucket: int, *, lake: Store) -> int:
    """Join the labels of one bucket and store them as a part of the plan; returns how many there are."""
    labels = rows_function(training_set.labels.rows)(read_partition(lake, plan.labels))
    places = np.flatnonzero(bucket_column(labels, training_set.labels.entity, plan.buckets) == bucket)
    mine = labels.take(pa.array(places, pa.int64()))
    del labels
    sources = read_from(training_set, plan.sources, lake=lake, about=mine)
    rows = training_rows(training_set, mine, sources.snapshots, sources.logs)
    sink = io.BytesIO()
    pq.write_table(rows.append_column(_PLACE, pa.array(places, pa.int64())), sink, compression="zstd")
    overwrite(lake, _part(training_set, plan, bucket), sink.getvalue())
    return rows.num_rows


def gather(
    training_set: TrainingSet, plan: JoinPlan, run: RunIdentity, *, lake: Store, observe: Callable[[pa.Table], dict[str, Any]]
) -> Manifest:
    """The candidate, from all parts in the labels' order; what `build_candidate` makes of the same inputs, byte for byte.

    Raises:
        PartsMissing: some label stands in no part, or in two.
    """
    rows = _whole(training_set, plan, lake=lake)
    joined = Joined(
        rows=rows,
        inputs=all_inputs([fact_of(plan.labels)], plan.sources),
        rows_without_label=plan.labels.counts.samples - rows.num_rows,
    )
    return store_candidate(training_set, plan.day, joined, run, lake=lake, observe=observe)


def _whole(training_set: TrainingSet, plan: JoinPlan, *, lake: Store) -> pa.Table:
    """The rows of all parts in the labels' order; the parts themselves are let go before anything is written."""
    parts = [pq.read_table(pa.BufferReader(lake.get(_part(training_set, plan, bucket)).data)) for bucket in range(plan.buckets)]
    rows = pa.concat_tables(parts)
    places = integers(rows.column(_PLACE))
    order = np.argsort(places, kind="stable")
    if not np.array_equal(places[order], np.arange(places.size)):
        raise PartsMissing(
            f"{training_set.name} {plan.day}",
            found=f"{np.unique(places).size} of the day's labels in {places.size} joined rows",
            expected="each label in one part",
            remedy="Clear the run from its first task, so that every bucket is joined from one plan.",
        )
    return rows.drop_columns(_PLACE).take(pa.array(order, pa.int64()))


def _manifest(lake: Store, fact: dict[str, str]) -> Manifest:
    return read_manifest(lake, fact["dataset"], fact["partition"], fact["manifest"])


def _part(training_set: TrainingSet, plan: JoinPlan, bucket: int) -> str:
    return layout.join_bucket(training_set.name, plan.day.isoformat(), plan.digest, bucket)
