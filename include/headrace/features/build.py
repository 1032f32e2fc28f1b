"""One day of a training set: labels joined to the snapshots and log rows they could see, stored as a candidate.

A candidate is a manifest that no release holds yet; the gate decides (`quality/gate.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.features.buckets import said_of
from headrace.features.cutoff import Interval
from headrace.features.fingerprint import view_fingerprint
from headrace.features.functions import rows_function
from headrace.features.inputs import fact_of, read_inputs
from headrace.features.materialise import version_of, versions_between
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
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TrainingSet


@dataclass(frozen=True, kw_only=True)
class Joined:
    """One day of training rows in memory, the released partitions they came from, and how many rows of the labels' dataset gave none."""

    rows: pa.Table
    inputs: list[dict[str, str]]
    rows_without_label: int


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What rows of one day are joined to, by view's and log join's name."""

    snapshots: dict[str, list[PublishedSnapshot]]
    logs: dict[str, pa.Table]


@dataclass(frozen=True, kw_only=True)
class SourceManifests:
    """The released partitions that rows of one day are joined to, by view's and log join's name. Nothing of them is read yet."""

    snapshots: dict[str, tuple[Manifest, ...]]
    logs: dict[str, tuple[Manifest, ...]]

    @property
    def inputs(self) -> list[dict[str, str]]:
        """What a manifest records of them, each once."""
        every = [one for found in (*self.snapshots.values(), *self.logs.values()) for one in found]
        return list({(one.dataset, one.partition): fact_of(one) for one in every}.values())


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
    manifests = find_sources(training_set, day, lake=lake)
    sources = read_from(training_set, manifests, lake=lake)
    labels = rows_function(training_set.labels.rows)(labels_in.rows)
    rows = training_rows(training_set, labels, sources.snapshots, sources.logs)
    return Joined(
        rows=rows,
        inputs=all_inputs(labels_in.facts, manifests),
        rows_without_label=labels_in.rows.num_rows - rows.num_rows,
    )


def read_sources(training_set: TrainingSet, day: date, *, lake: Store) -> Sources:
    """The snapshots and log rows that rows of `day` may see. Raises NotPublished when one is not there."""
    return read_from(training_set, find_sources(training_set, day, lake=lake), lake=lake)


def find_sources(training_set: TrainingSet, day: date, *, lake: Store) -> SourceManifests:
    """Which released partitions rows of `day` may see. Raises NotPublished when one is not there."""
    snapshots: dict[str, tuple[Manifest, ...]] = {}
    for view in training_set.views:
        needed = snapshots_needed(training_set, view, day, lake=lake).versions
        partitions = [str(version.key) for version in needed]
        snapshots[view.name] = _manifests(lake, view.name, partitions)
    logs = {
        join.name: _manifests(lake, join.log.dataset, [one.isoformat() for one in joined_log_days(training_set, join, day)])
        for join in training_set.logs
    }
    return SourceManifests(snapshots=snapshots, logs=logs)


def read_from(training_set: TrainingSet, found: SourceManifests, *, lake: Store, about: pa.Table | None = None) -> Sources:
    """The rows of these partitions.

    Args:
        about: rows with the entity columns; only what is said of their entities is kept, partition by partition. None: everything.
    """
    return Sources(
        snapshots={
            view.name: [read_snapshot(view, one, lake=lake, about=about) for one in found.snapshots[view.name]]
            for view in training_set.views
        },
        logs={join.name: _read_log(join, found.logs[join.name], about, lake=lake) for join in training_set.logs},
    )


def read_snapshot(view: FeatureView, manifest: Manifest, *, lake: Store, about: pa.Table | None = None) -> PublishedSnapshot:
    """One version and its rows; `about` as in `read_from`."""
    rows = read_partition(lake, manifest, [*view.entity, *view.features])
    return PublishedSnapshot(version=version_of(manifest), rows=_kept(rows, view.entity, about))


def _read_log(join: LogJoin, partitions: Sequence[Manifest], about: pa.Table | None, *, lake: Store) -> pa.Table:
    """The rows function gets all partitions at once, unless their log promises that it works row by row (`FeatureLog.partitions`)."""
    together = [[one] for one in partitions] if join.log.by_arrival else [partitions]
    function = rows_function(join.log.rows)
    return pa.concat_tables(
        [_kept(function(pa.concat_tables([read_partition(lake, one) for one in some])), join.entity, about) for some in together]
    )


def _kept(rows: pa.Table, entity: tuple[str, ...], about: pa.Table | None) -> pa.Table:
    return rows if about is None else said_of(rows, entity, about)


def all_inputs(labels: list[dict[str, str]], sources: SourceManifests) -> list[dict[str, str]]:
    """What a day's manifest records of its inputs: the labels' partition first, each once."""
    return [*labels, *(one for one in sources.inputs if one not in labels)]


def build_candidate(
    training_set: TrainingSet, day: date, run: RunIdentity, *, lake: Store, observe: Callable[[pa.Table], dict[str, Any]]
) -> Manifest:
    """Join one day's labels and store the result as a candidate.

    Args:
        observe: what else to record of the rows while they are in hand, such as their profile; stored in the facts.

    Raises:
        NotPublished: as `join_day`.
    """
    return store_candidate(training_set, day, join_day(training_set, day, lake=lake), run, lake=lake, observe=observe)


def store_candidate(
    training_set: TrainingSet,
    day: date,
    joined: Joined,
    run: RunIdentity,
    *,
    lake: Store,
    observe: Callable[[pa.Table], dict[str, Any]],
) -> Manifest:
    """Write joined rows as a candidate, and give its manifest; the same rows from the same inputs are the same candidate."""
    rows = joined.rows.combine_chunks()  # how rows were put together must not show in pages
    written = write_table(
        lake, training_set.name, rows, key=("label_id",), computed_from=f"{training_set.labels.dataset}/{day.isoformat()}"
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
        facts={"inputs": joined.inputs, "training": _facts(training_set, joined), **observe(rows)},
    )
    write_candidate(lake, manifest, run.document())
    return manifest


def _ends_after(needs: SnapshotNeeds, first: date, interval: Interval) -> bool:
    """Whether the walk back ended at a version of a later day than the first one read."""
    return any(version.published_at <= interval.start and version.key.day >= first for version in needs.versions)


def _manifests(lake: Store, dataset: str, partitions: list[str]) -> tuple[Manifest, ...]:
    if not partitions:
        return ()
    release = published(lake, dataset)
    return tuple(manifest_of(lake, release, one) for one in partitions)


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
