"""What the shortcuts would have leaked: the same labels, joined the ways that look right.

Two shortcuts, one for each kind of source. *The newest complete day*: of the days that had ended by the label's time the newest, in
the version that knows most today; whether anybody could have read that version then is not asked. *The newest event*: the entity's
row with the greatest event time at or before the label's; whether it had arrived is not asked.

The figures look at what is known now, so they grow as data arrives. They belong in a report and never in a training row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from headrace.features.columns import Flags, Rows
from headrace.features.cutoff import cutoff_instant, to_micros
from headrace.features.engines.numpy import NumpyEngine
from headrace.features.keys import NULL_KEY, shared_codes
from headrace.features.labels import open_labels
from headrace.features.log import Log, open_log
from headrace.features.training_rows import PublishedSnapshot, join_view
from headrace.features.versions import SnapshotVersion
from headrace.spec.feature_view import FeatureView


@dataclass(frozen=True, kw_only=True)
class NaiveLeak:
    """What one shortcut would have done.

    Attributes:
        source: the view or log.
        shortcut: `newest complete day` or `newest event`.
        labels: labels with an answer under the shortcut.
        leaked: of these, how many would have used what was not there yet at their time.
        changed: of those, how many would have had other values than the training row has.
    """

    source: str
    shortcut: str
    labels: int
    leaked: int
    changed: int

    @property
    def share(self) -> float | None:
        """`leaked / labels`; None without labels."""
        return None if self.labels == 0 else self.leaked / self.labels


def naive_days(view: FeatureView, labels: pa.Table, rows: pa.Table, published: Sequence[PublishedSnapshot]) -> NaiveLeak:
    """The figure of *the newest complete day* for one view.

    Args:
        labels: the labels.
        rows: their training rows.
        published: every version of the days the labels could see or wish to see, as published by now.
    """
    as_if = [_at_once(view, one) for one in _best_of_each_day(published)]
    joined = join_view(view, labels, as_if, ttl_micros=None)
    chosen = {str(one.version.key): one.version.published_at for one in published}
    versions = joined.column(f"{view.name}__version").to_pylist()
    times = open_labels(labels, view.entity).time
    seen: list[datetime | None] = [None if name is None else chosen[name] for name in versions]
    leaked = np.array([one is not None and to_micros(one) > int(at) for one, at in zip(seen, times, strict=True)], dtype=bool)
    changed = leaked & _differ(joined, rows, view.features)
    found = sum(one is not None for one in seen)
    return NaiveLeak(
        source=view.name, shortcut="newest complete day", labels=found, leaked=int(leaked.sum()), changed=int(changed.sum())
    )


def naive_events(source: str, entity: Sequence[str], labels: pa.Table, log: pa.Table) -> NaiveLeak:
    """The figure of *the newest event* for one log. A row that leaks is not the row's answer, so all leaks count as changed."""
    opened = open_log(log, entity)
    times = open_labels(labels, entity).time
    group, asked = shared_codes([opened.table, labels], list(entity), ["log", "labels"])
    plain = np.where(opened.retraction | opened.tombstone, NULL_KEY, group)
    early = Log.of_clocks(event=opened.event, available=opened.event, seq=_by_arrival(opened))
    row: Rows = NumpyEngine().rows_at(early, plain, asked, times)
    found = row >= 0
    leaked = found & (opened.available[np.maximum(row, 0)] > times) if opened.event.size > 0 else found
    count = int(leaked.sum())
    return NaiveLeak(source=source, shortcut="newest event", labels=int(found.sum()), leaked=count, changed=count)


def _by_arrival(log: Log) -> Rows:
    """A number for each row that grows with (available, seq)."""
    order = np.lexsort((log.seq, log.available))
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place


def _best_of_each_day(published: Sequence[PublishedSnapshot]) -> list[PublishedSnapshot]:
    best: dict[object, PublishedSnapshot] = {}
    for one in sorted(published, key=lambda one: one.version.rank):
        best[one.version.key.day] = one
    return list(best.values())


def _at_once(view: FeatureView, one: PublishedSnapshot) -> PublishedSnapshot:
    """The snapshot as if the whole of it had been there when its day ended."""
    ended = cutoff_instant(view.cutoff, one.version.key.day)
    return PublishedSnapshot(version=_Moved(one.version, ended), rows=one.rows)


def _Moved(version: SnapshotVersion, published_at: datetime) -> SnapshotVersion:  # noqa: N802
    moved = object.__new__(SnapshotVersion)
    for name, value in (("key", version.key), ("published_at", published_at), ("synthetic", version.synthetic)):
        object.__setattr__(moved, name, value)
    return moved


def _differ(one: pa.Table, other: pa.Table, columns: Sequence[str]) -> Flags:
    """Rows in which any of the columns differs; null equals null."""
    differ = np.zeros(one.num_rows, dtype=bool)
    for name in columns:
        pairs = zip(one.column(name).to_pylist(), other.column(name).to_pylist(), strict=True)
        differ |= np.array([a != b for a, b in pairs], dtype=bool)
    return differ
