"""One day of a training set: labels joined to the snapshots and log rows they could see, stored as a candidate.

A candidate is a manifest that no release holds yet; the gate decides (`quality/gate.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.features.cutoff import Interval
from headrace.features.fingerprint import view_fingerprint
from headrace.features.functions import rows_function
from headrace.features.inputs import read_inputs
from headrace.features.materialise import versions_between
from headrace.features.needs import SnapshotNeeds, joined_log_days, label_interval, snapshot_needs
from headrace.features.split import split_counts
from headrace.features.training_rows import PublishedSnapshot, training_rows
from headrace.lake.store import Store
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import write_candidate
from headrace.manifests.read import manifest_of, published
from headrace.manifests.run import RunIdentity
from headrace.shards.table import read_partition, write_table
from headrace.spec.canonical import digest_of, plain
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet


@dataclass(frozen=True, kw_only=True)
class Joined:
    """One day of training rows in memory, what they were made of, and the released partitions that came from."""

    rows: pa.Table
    labels: pa.Table
    snapshots: dict[str, list[PublishedSnapshot]]
    logs: dict[str, pa.Table]
    inputs: list[dict[str, str]]
    rows_without_label: int


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What rows of one day are joined to, by view's and log join's name, and the released partitions it came from."""

    snapshots: dict[str, list[PublishedSnapshot]]
    logs: dict[str, pa.Table]
    inputs: list[dict[str, str]]


def snapshots_needed(training_set: TrainingSet, view: FeatureView, day: date, *, lake: Store) -> SnapshotNeeds:
    """Which of the view's versions the labels of `day` may use, and which of those are not published yet.

    Looks back only as far as a label can: the published days are read in steps until the walk ends inside them.
    """
    interval = label_interval(training_set, day)
    if interval is None:
        return SnapshotNeeds(versions=(), missing=())
    days = 8
    while True:
        first = max(day - timedelta(days=days), view.start)
        needs = snapshot_needs(view, interval, versions_between(lake, view, first, day))
        if first == view.start or _ends_after(needs, first, interval):
            return needs
        days *= 2


def join_day(training_set: TrainingSet, day: date, *, lake: Store) -> Joined:
    """One day's labels with the features they could see. Writes nothing.

    Raises:
        NotPublished: the labels' partition, a needed snapshot or a day of a log is not there; a run waits for them first.
    """
    labels_in = read_inputs(lake, training_set.labels.dataset, [day])
    sources = read_sources(training_set, day, lake=lake)
    labels = rows_function(training_set.labels.rows)(labels_in.rows)
    rows = training_rows(training_set, labels, sources.snapshots, sources.logs)
    return Joined(
        rows=rows,
        labels=labels,
        snapshots=sources.snapshots,
        logs=sources.logs,
        inputs=[*labels_in.facts, *(fact for fact in sources.inputs if fact not in labels_in.facts)],
        rows_without_label=labels_in.rows.num_rows - rows.num_rows,
    )


def read_sources(training_set: TrainingSet, day: date, *, lake: Store) -> Sources:
    """The snapshots and log rows that rows of `day` may see. Raises NotPublished when one is not there."""
    snapshots: dict[str, list[PublishedSnapshot]] = {}
    logs: dict[str, pa.Table] = {}
    inputs: list[dict[str, str]] = []
    for view in training_set.views:
        snapshots[view.name], used = _read_snapshots(lake, view, snapshots_needed(training_set, view, day, lake=lake))
        inputs = [*inputs, *used]
    for join in training_set.logs:
        log_in = read_inputs(lake, join.log.dataset, joined_log_days(training_set, join, day))
        logs[join.name] = rows_function(join.log.rows)(log_in.rows)
        inputs = [*inputs, *(fact for fact in log_in.facts if fact not in inputs)]
    return Sources(snapshots=snapshots, logs=logs, inputs=inputs)


def build_candidate(
    training_set: TrainingSet, day: date, run: RunIdentity, *, lake: Store, observe: Callable[[pa.Table], dict[str, Any]]
) -> Manifest:
    """Join one day's labels and store the result as a candidate.

    Args:
        observe: what else to record of the rows while they are in hand, such as their profile; stored in the facts.

    Raises:
        NotPublished: as `join_day`.
    """
    joined = join_day(training_set, day, lake=lake)
    written = write_table(
        lake,
        training_set.name,
        joined.rows,
        key=("label_id",),
        computed_from=f"{training_set.labels.dataset}/{day.isoformat()}",
    )
    manifest = Manifest(
        dataset=training_set.name,
        partition=day.isoformat(),
        shards=written.uploaded.shards,
        index=written.uploaded.index,
        schema=written.schema,
        counts=Counts(listed=len(joined.inputs), read=len(joined.inputs), skipped={}, quarantined={}, samples=written.rows),
        inventory_digest=digest_of(joined.inputs),
        declaration_digest=digest_of(training_set),
        facts={"inputs": joined.inputs, "training": _facts(training_set, joined), **observe(joined.rows)},
    )
    write_candidate(lake, manifest, run.document())
    return manifest


def _ends_after(needs: SnapshotNeeds, first: date, interval: Interval) -> bool:
    """Whether the walk back ended at a version of a later day than the first one read."""
    return any(version.published_at <= interval.start and version.key.day >= first for version in needs.versions)


def _read_snapshots(lake: Store, view: FeatureView, needs: SnapshotNeeds) -> tuple[list[PublishedSnapshot], list[dict[str, str]]]:
    if not needs.versions:
        return [], []
    release = published(lake, view.name)
    manifests = [manifest_of(lake, release, str(version.key)) for version in needs.versions]
    read = [
        PublishedSnapshot(version=version, rows=read_partition(lake, manifest, [*view.entity, *view.features]))
        for version, manifest in zip(needs.versions, manifests, strict=True)
    ]
    return read, [{"dataset": view.name, "partition": m.partition, "manifest": m.digest} for m in manifests]


def _facts(training_set: TrainingSet, joined: Joined) -> dict[str, Any]:
    names = [source.name for source in training_set.sources]
    rows = joined.rows
    return {
        "rows_without_label": joined.rows_without_label,
        "split": {str(part): count for part, count in split_counts(rows.column("split")).items()},
        "null_reasons": {name: _counted(rows.column(f"{name}__reason")) for name in names},
        "snapshots_used": {view.name: _counted(rows.column(f"{view.name}__version")) for view in training_set.views},
        "code": {source.name: view_fingerprint(source) for source in training_set.sources},
        "label_times": _range(rows.column("label_time")),
    }


def _counted(column: pa.ChunkedArray[Any]) -> dict[str, int]:
    return dict(sorted(Counter(value for value in column.to_pylist() if value is not None).items()))


def _range(column: pa.ChunkedArray[Any]) -> list[Any]:
    if len(column) == 0:
        return []
    ends: Any = pc.min_max(column).as_py()
    return [plain(ends["min"]), plain(ends["max"])]
