"""What a stored day of training rows was made of, read again by the digests that its manifest records: about some labels, or in buckets.

Only what has been published around the day is looked up in the releases of now; it serves the figures of the shortcuts.

In buckets, memory holds the day's labels, one snapshot version or one log at a time as it comes (of a log partitioned by arrival only a
partition), and one bucket's share of everything; each bucket reads the sources again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from headrace.features.buckets import bucket_column
from headrace.features.build import SourceManifests, read_from, read_snapshot
from headrace.features.columns import Rows
from headrace.features.functions import rows_function
from headrace.features.inputs import inputs_from
from headrace.features.leakage import Material
from headrace.features.materialise import versions_between
from headrace.features.needs import joined_log_days
from headrace.features.training_rows import PublishedSnapshot
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published, read_manifest
from headrace.shards.read import row_groups
from headrace.shards.samples import IDENTITY
from headrace.shards.schema import empty_table
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet

_IDENTITY: Final = {field.name for field in IDENTITY}
_BEFORE: Final = timedelta(days=2)
"""How many days of versions before the labels' day the figures of the shortcuts look at."""


def in_buckets(training_set: TrainingSet, manifest: Manifest, *, lake: Store) -> Iterator[tuple[pa.Table, Material]]:
    """The stored rows and what they were made of, one bucket of the training set's after another; a day without labels is one bucket.

    A day with more or fewer rows than labels is not taken apart: which row belongs to which label is then anybody's guess.
    """
    labels, stored = labels_of(training_set, manifest, lake=lake), manifest.counts.samples
    if labels.num_rows != stored:
        yield _rows_at(lake, manifest, np.arange(stored)), material(training_set, manifest, labels, lake=lake)
        return
    bucket = bucket_column(labels, training_set.labels.entity, training_set.buckets)
    for number in np.unique(bucket).tolist() or [0]:
        places = np.flatnonzero(bucket == number)
        asked = labels.take(pa.array(places, pa.int64()))
        yield _rows_at(lake, manifest, places), material(training_set, manifest, asked, lake=lake)


def labels_of(training_set: TrainingSet, manifest: Manifest, *, lake: Store) -> pa.Table:
    """The labels of a stored day, in their order."""
    [fact] = _facts(manifest, training_set.labels.dataset, [manifest.partition])
    return rows_function(training_set.labels.rows)(inputs_from(lake, [fact]).rows)


def material(training_set: TrainingSet, manifest: Manifest, labels: pa.Table, *, lake: Store) -> Material:
    """What was said of these labels' entities, and what is published around the day by now."""
    day = date.fromisoformat(manifest.partition)
    found = SourceManifests(
        snapshots={view.name: _recorded(lake, manifest, view.name, None) for view in training_set.views},
        logs={
            join.name: _recorded(lake, manifest, join.log.dataset, joined_log_days(training_set, join, day))
            for join in training_set.logs
        },
    )
    sources = read_from(training_set, found, lake=lake, about=labels)
    around = {view.name: _around(lake, view, sources.snapshots[view.name], day, labels) for view in training_set.views}
    return Material(labels=labels, snapshots=sources.snapshots, logs=sources.logs, published=around)


def recorded_versions(view: FeatureView, manifest: Manifest, *, lake: Store) -> Iterator[PublishedSnapshot]:
    """The view's versions that a stored day used, whole, one at a time."""
    return (read_snapshot(view, one, lake=lake) for one in _recorded(lake, manifest, view.name, None))


def _recorded(lake: Store, manifest: Manifest, dataset: str, days: Collection[date] | None) -> tuple[Manifest, ...]:
    """The manifests that a stored day names of a dataset, by partition. `days`: only these."""
    wanted = None if days is None else {day.isoformat() for day in days}
    facts = sorted(_facts(manifest, dataset, wanted), key=lambda one: one["partition"])
    return tuple(read_manifest(lake, one["dataset"], one["partition"], one["manifest"]) for one in facts)


def _facts(manifest: Manifest, dataset: str, partitions: Collection[str] | None) -> list[dict[str, str]]:
    return [
        one
        for one in manifest.facts["inputs"]
        if one["dataset"] == dataset and (partitions is None or one["partition"] in partitions)
    ]


def _around(
    lake: Store, view: FeatureView, used: list[PublishedSnapshot], day: date, labels: pa.Table
) -> list[PublishedSnapshot]:
    """The versions of the labels' day and the days just before it, as published by now, without those in hand."""
    known = {one.version.key for one in used}
    found = [one for one in versions_between(lake, view, day - _BEFORE, day) if one.key not in known]
    if not found:
        return []
    release = published(lake, view.name)
    return [read_snapshot(view, manifest_of(lake, release, str(one.key)), lake=lake, about=labels) for one in found]


def _rows_at(lake: Store, manifest: Manifest, places: Rows) -> pa.Table:
    """The partition's rows at these places (ascending), without what identifies them as samples."""
    names = [column.name for column in manifest.schema if column.name not in _IDENTITY]
    taken, begin = [empty_table(manifest.schema, names)] if not manifest.shards else [], 0
    for group in row_groups(lake, manifest):
        first, last = np.searchsorted(places, [begin, begin + group.num_rows])
        taken.append(group.select(names).take(pa.array(places[first:last] - begin, pa.int64())))
        begin += group.num_rows
    return pa.concat_tables(taken)
