"""What the shortcuts would have leaked: the same labels, joined the ways that look right.

Two shortcuts, one for each kind of source. *The newest complete day*: of the days that had ended by the label's time the newest, in
the version that knows most today; whether anybody could have read that version then is not asked. *The newest event*: the entity's
row with the greatest event time at or before the label's; whether it had arrived is not asked.

The figures look at what is known now, so they grow as data arrives. They belong in a report and never in a training row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa

from headrace.features.columns import Array, Flags, Rows, picked
from headrace.features.cutoff import cutoff_instant, to_micros
from headrace.features.engines.numpy import NumpyEngine
from headrace.features.keys import NULL_KEY, shared_codes
from headrace.features.labels import open_labels
from headrace.features.log import Log, open_log
from headrace.features.training_rows import PublishedSnapshot, looked_up
from headrace.spec.feature_view import FeatureView


@dataclass(frozen=True, kw_only=True)
class NaiveLeak:
    """What one shortcut would have done.

    Attributes:
        source: the view or log.
        shortcut: `newest complete day` or `newest event`.
        labels: labels for which the shortcut finds a day or an event.
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
    best = _best_of_each_day(published)
    times = open_labels(labels, view.entity).time
    ended = np.array([to_micros(cutoff_instant(view.cutoff, one.version.key.day)) for one in best], dtype=np.int64)
    chosen = np.searchsorted(ended, times, side="right") - 1
    used = [int(position) for position in np.unique(chosen[chosen >= 0])]
    there, found, nobody = looked_up(view, labels, best, chosen, used)
    asked = (chosen >= 0) & ~nobody
    readable = np.array([to_micros(one.version.published_at) for one in best], dtype=np.int64)
    leaked = asked.copy()
    leaked[asked] = readable[chosen[asked]] > times[asked]
    changed = leaked & _differ({name: picked(there.column(name), found) for name in view.features}, rows)
    return NaiveLeak(
        source=view.name,
        shortcut="newest complete day",
        labels=int(asked.sum()),
        leaked=int(leaked.sum()),
        changed=int(changed.sum()),
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
    """Oldest day first."""
    best: dict[date, PublishedSnapshot] = {}
    for one in sorted(published, key=lambda one: one.version.rank):
        best[one.version.key.day] = one
    return list(best.values())


def _differ(columns: Mapping[str, Array], rows: pa.Table) -> Flags:
    """Rows in which any of the columns differs; null equals null."""
    differ = np.zeros(rows.num_rows, dtype=bool)
    for name, column in columns.items():
        pairs = zip(column.to_pylist(), rows.column(name).to_pylist(), strict=True)
        differ |= np.array([one != other for one, other in pairs], dtype=bool)
    return differ
