"""Training rows: each label gets the newest snapshot that was published by its time, and the newest log row that had arrived.

Which version a label sees is the frontier's question with whole versions as rows: visible from `published_at` on, best by
day, then by knowledge. So a label part-way through a day gets the last completed day, and a rebuild of day 9 that
appears on day 11 loses against day 10. Then entities are looked up in exactly that version; an older snapshot is never
consulted, not even for an entity the chosen one does not hold.

A log joined directly is `headrace.features.as_of`, value by value.

Nothing here looks at what was published or arrived after a label's time: versions and rows added later change no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from headrace.features.columns import Array, Flags, Rows, nulls, picked, table_of, words
from headrace.features.cutoff import cutoff_instant, to_micros
from headrace.features.engines.engine import Engine, engine_named
from headrace.features.engines.numpy import NumpyEngine
from headrace.features.errors import SchemaError, SnapshotError
from headrace.features.feature_types import feature_schema
from headrace.features.keys import NULL_KEY, shared_codes
from headrace.features.labels import open_labels, refuse_collisions, refuse_nameless
from headrace.features.log import Log
from headrace.features.log_join import join_log, log_columns
from headrace.features.reasons import Reason
from headrace.features.split import split_column
from headrace.features.times import Micros, instants
from headrace.features.versions import SnapshotVersion
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet

_Given = TypeVar("_Given")
_LONG_AGO: Final = 2**62
"""Microseconds: a rank minus this is before every instant that `headrace.features.times` lets in."""


@dataclass(frozen=True, kw_only=True)
class PublishedSnapshot:
    """A version and its rows, as read from the lake."""

    version: SnapshotVersion
    rows: pa.Table


def provenance_columns(view: FeatureView) -> tuple[str, ...]:
    """`<view>__day`, `<view>__version` (its partition key), `<view>__published_at`, `<view>__reason`."""
    return tuple(f"{view.name}__{part}" for part in ("day", "version", "published_at", "reason"))


def training_rows(
    training_set: TrainingSet,
    labels: pa.Table,
    snapshots: Mapping[str, Sequence[PublishedSnapshot]],
    logs: Mapping[str, pa.Table] | None = None,
) -> pa.Table:
    """The labels, one for one and in their order, with `split`, every view's and log's values and their provenance.

    Found by the training set's engine; every engine gives the same table.

    Args:
        training_set: the declaration.
        labels: what the label set's rows function returned.
        snapshots: by view name, at least the versions `needs.snapshot_needs` names; further ones change nothing.
        logs: by log join's name, what its rows function returned over at least the days `needs.joined_log_days` names.

    Raises:
        SchemaError: label columns are missing or collide with features, types differ, or a view's snapshots or a log are not given.
        SnapshotError: a snapshot holds an entity twice, or the same version was given twice.
    """
    open_labels(labels, training_set.labels.entity)
    refuse_nameless(labels)
    columns = {view: (*view.features, *provenance_columns(view)) for view in training_set.views}
    joins = {join: (*join.features, *log_columns(join)) for join in training_set.logs}
    refuse_collisions(labels, ["split", *(name for names in (*columns.values(), *joins.values()) for name in names)])
    table = labels.append_column("split", split_column(training_set, labels))
    return join_sources(training_set, labels, snapshots, logs, onto=table)


def join_sources(
    training_set: TrainingSet,
    asked: pa.Table,
    snapshots: Mapping[str, Sequence[PublishedSnapshot]],
    logs: Mapping[str, pa.Table] | None = None,
    *,
    onto: pa.Table,
) -> pa.Table:
    """`onto` with every view's and log's values and their provenance, as they were known at each row's `label_time` of `asked`.

    The one way to features, for labels and for live rows alike. Arguments and errors are those of `training_rows`.
    """
    columns = {view: (*view.features, *provenance_columns(view)) for view in training_set.views}
    joins = {join: (*join.features, *log_columns(join)) for join in training_set.logs}
    table, labels = onto, asked
    engine = engine_named(training_set.engine)
    for view, names in columns.items():
        published = _given(snapshots, view.name, "snapshots")
        table = _with(table, names, join_view(view, labels, published, ttl_micros=_ttl_micros(training_set), engine=engine))
    for join, names in joins.items():
        rows = _given({} if logs is None else logs, join.name, "rows")
        table = _with(table, names, join_log(join, labels, rows, engine=training_set.engine))
    return table


def _with(table: pa.Table, names: Sequence[str], joined: pa.Table) -> pa.Table:
    for name in names:
        table = table.append_column(name, joined.column(name))
    return table


def _given(found: Mapping[str, _Given], name: str, what: str) -> _Given:
    if name not in found:
        raise SchemaError(f"{what} of {name}", found="none given", expected="some, even if empty", remedy="Read them first.")
    return found[name]


def versions_at(versions: Sequence[SnapshotVersion], label_time: Micros, engine: Engine | None = None) -> Rows:
    """For each label time the position in `versions` of the one it sees, or -1. Shape (labels,).

    Of the versions with `published_at <= L` the newest day, of that day the one that knows most. To an engine the versions
    are a log of one entity: it arrives when it is published, and its event time is its rank, long before any label.
    """
    if len({version.key for version in versions}) != len(versions):
        raise SnapshotError(
            "snapshot versions", found="one key twice", expected="each version once", remedy="List each version once."
        )
    order = sorted(range(len(versions)), key=lambda position: versions[position].rank)
    rank = np.empty(len(versions), dtype=np.int64)
    rank[order] = np.arange(len(versions))
    published = np.array([to_micros(version.published_at) for version in versions], dtype=np.int64)
    search = NumpyEngine() if engine is None else engine
    log = Log.of_clocks(event=rank - _LONG_AGO, available=published, seq=rank)
    return search.rows_at(log, np.zeros_like(rank), np.zeros(label_time.shape, dtype=np.int64), label_time)


def join_view(
    view: FeatureView,
    labels: pa.Table,
    snapshots: Sequence[PublishedSnapshot],
    *,
    ttl_micros: int | None,
    engine: Engine | None = None,
) -> pa.Table:
    """The view's features and provenance for each label, in the labels' order.

    Args:
        view: the declaration.
        labels: labels with the view's entity columns and `label_time`.
        snapshots: the published versions.
        ttl_micros: a snapshot whose cutoff is longer ago than this at label time has expired; None: none has.
        engine: what finds the versions; None: the reference engine.
    """
    opened = open_labels(labels, view.entity)
    chosen = versions_at([snapshot.version for snapshot in snapshots], opened.time, engine)
    used = [int(position) for position in np.unique(chosen[chosen >= 0])]
    cutoffs = np.array([to_micros(cutoff_instant(view.cutoff, item.version.key.day)) for item in snapshots], dtype=np.int64)
    expired = np.zeros(chosen.shape, dtype=bool)
    if ttl_micros is not None and len(snapshots) > 0:
        expired = (chosen >= 0) & (opened.time - cutoffs[np.maximum(chosen, 0)] > ttl_micros)
    rows, found, null_key = looked_up(view, labels, snapshots, chosen, used)
    found = np.where(expired, -1, found)
    features = {name: picked(rows.column(name), found) for name in view.features}
    reason = _reasons(features, chosen, found, null_key=null_key, expired=expired)
    return table_of({**features, **_provenance(view, snapshots, chosen, reason)})


def looked_up(
    view: FeatureView, labels: pa.Table, snapshots: Sequence[PublishedSnapshot], chosen: Rows, used: list[int]
) -> tuple[pa.Table, Rows, Flags]:
    """The rows of the used versions, for each label the row it gets or -1, and which labels have a null key."""
    tables = [_checked(view, snapshots[position]) for position in used]
    codes = shared_codes([labels, *tables], view.entity, ["labels", *(str(snapshots[p].version.key) for p in used)])
    null_key = codes[0] == NULL_KEY
    if not tables:
        return feature_schema(view).empty_table(), np.full(chosen.shape, -1), null_key
    version = np.concatenate([np.full(table.num_rows, position) for table, position in zip(tables, used, strict=True)])
    span = len(snapshots)
    known, asked = np.concatenate(codes[1:]) * span + version, codes[0] * span + chosen
    order = np.argsort(known, kind="stable")
    _refuse_twice(view, snapshots, known[order], version[order])
    at = np.minimum(np.searchsorted(known[order], asked), max(known.size - 1, 0))
    if known.size == 0:
        return pa.concat_tables(tables), np.full(chosen.shape, -1), null_key
    hit = (known[order][at] == asked) & (chosen >= 0) & ~null_key
    return pa.concat_tables(tables), np.where(hit, order[at], -1), null_key


def _checked(view: FeatureView, snapshot: PublishedSnapshot) -> pa.Table:
    expected = feature_schema(view)
    strange = [field for field in expected if field not in list(snapshot.rows.schema)]
    if strange or set(view.entity) - set(snapshot.rows.schema.names):
        raise SchemaError(
            f"snapshot {view.name} {snapshot.version.key}",
            found=f"columns {dict(zip(snapshot.rows.schema.names, snapshot.rows.schema.types, strict=True))}",
            expected=f"entity columns {view.entity} and features {dict(zip(expected.names, expected.types, strict=True))}",
            remedy="It was written under another declaration: rebuild it under a new version.",
        )
    return snapshot.rows.select([*view.entity, *view.features])


def _refuse_twice(view: FeatureView, snapshots: Sequence[PublishedSnapshot], known: Rows, version: Rows) -> None:
    twice = np.flatnonzero((known[1:] == known[:-1]) & (known[1:] >= 0))
    if twice.size > 0:
        raise SnapshotError(
            f"snapshot {view.name} {snapshots[int(version[twice[0]])].version.key}",
            found="an entity twice",
            expected="one row per entity",
            remedy="Rebuild it: a snapshot with two answers has none.",
        )


def _reasons(
    features: Mapping[str, Array],
    chosen: Rows,
    found: Rows,
    *,
    null_key: Flags,
    expired: Flags,
) -> Array:
    null_value = np.zeros(chosen.shape, dtype=bool)
    for values in features.values():
        null_value |= nulls(values)
    conditions = [null_key, chosen < 0, expired, found < 0, null_value]
    names = [Reason.NULL_KEY, Reason.NOT_YET_ARRIVED, Reason.EXPIRED, Reason.NEVER_SEEN, Reason.NULL_VALUE]
    return words(names, np.select(conditions, [np.int64(n) for n in range(len(names))], default=np.int64(-1)))


def _provenance(view: FeatureView, snapshots: Sequence[PublishedSnapshot], chosen: Rows, reason: Array) -> dict[str, Array]:
    versions = [snapshot.version for snapshot in snapshots]
    published = np.array([to_micros(version.published_at) for version in versions], dtype=np.int64)
    columns = (
        picked(pa.array([version.key.day for version in versions], pa.date32()), chosen),
        words([str(version.key) for version in versions], chosen),
        picked(instants(published), chosen),
        reason,
    )
    return dict(zip(provenance_columns(view), columns, strict=True))


def _ttl_micros(training_set: TrainingSet) -> int | None:
    return None if training_set.ttl is None else int(training_set.ttl.total_seconds()) * 1_000_000
