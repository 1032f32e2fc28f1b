"""The snapshot of a day at a knowledge time: features per entity over what had arrived, and nothing else.

`compute_snapshot(log, view, day, knowledge)` takes the events known at K (`a <= K`, closed), keeps those before the day's
end (`x < C(D)`, open) and aggregates them over each window `[C(D-w), C(D))`. It is pure: rows that arrive after K change
nothing in `rows` and `counts`, so a backfill months later gives the bytes of the on-time run. Only `completeness` looks
back from what is known now, and belongs in a report, not in the content.

An entity has a row when at least one of its events lies in the longest window. Rows are sorted by entity.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa

from headrace.features.aggregate import Ranges, aggregate
from headrace.features.columns import Column, Rows, picked, sort_order, table_of
from headrace.features.completeness import Completeness, completeness
from headrace.features.cutoff import cutoff_instant, day_interval, settled_at, to_micros, window_interval
from headrace.features.errors import SchemaError, SnapshotError
from headrace.features.events import Events, event_codes, events_known_at
from headrace.features.feature_types import check_values
from headrace.features.keys import NULL_KEY, key_column, shared_codes
from headrace.features.log import Log, open_log
from headrace.features.times import Micros
from headrace.spec.canonical import instant_text
from headrace.spec.feature_view import FeatureView
from headrace.spec.zones import zone_data_version


@dataclass(frozen=True, kw_only=True)
class SnapshotCounts:
    """What became of the log rows that had arrived by K. A function of those rows alone.

    Attributes:
        arrived: rows with `a <= K`.
        null_key: of these, rows without an entity: they belong to nobody.
        superseded: rows replaced by a later version of their event.
        retracted: rows withdrawn by a retraction.
        tombstoned: events cancelled by a tombstone.
        ahead: events at or after the day's end: they wait for their own day.
        before: events older than the longest window.
        used: events that entered the features.
        too_late: of these, how many arrived after their own day had settled: the settled snapshot of that day will never have them.
        entities: rows of the snapshot.
    """

    arrived: int
    null_key: int
    superseded: int
    retracted: int
    tombstoned: int
    ahead: int
    before: int
    used: int
    too_late: int
    entities: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A computed snapshot.

    Attributes:
        rows: entity columns, then the view's features; one row per entity, sorted.
        day: the local day D.
        begins: `C(D-1)`, UTC, inclusive.
        ends: `C(D)`, UTC, exclusive.
        knowledge: `K`, UTC, inclusive.
        zone_data: the version of the zone data behind the cutoffs.
        counts: what became of the rows known at K.
        completeness: the day's events as known now, and how many had arrived by K; not part of the content.
    """

    rows: pa.Table
    day: date
    begins: datetime
    ends: datetime
    knowledge: datetime
    zone_data: str
    counts: SnapshotCounts
    completeness: Completeness


def compute_snapshot(log: pa.Table, view: FeatureView, day: date, knowledge: datetime) -> Snapshot:
    """The view's features at the end of `day`, as known at `knowledge`.

    Args:
        log: what the view's rows function returned, over the partitions `needs.version_log_days` names, in any order, or the state
            of `headrace.features.increment`.
        view: the declaration.
        day: the local day whose end the features describe.
        knowledge: `K`; at or after `C(day)`.

    Raises:
        SchemaError, RowsError: the log is not as `open_log` and the aggregates need it.
        SnapshotError: `knowledge` lies before the day's end.
    """
    interval = day_interval(view.cutoff, day)
    if knowledge.tzinfo is None or knowledge < interval.end:
        raise SnapshotError(
            f"snapshot {view.name} {day}",
            found=f"knowledge time {knowledge}",
            expected=f"an instant at or after the day's end {instant_text(interval.end)}",
            remedy="A day that is not over has no snapshot.",
        )
    opened = open_log(log, view.entity)
    codes = event_codes(opened, view.log.event_key)
    known = events_known_at(opened, codes, to_micros(knowledge))
    ends, begins = to_micros(interval.end), to_micros(window_interval(view.cutoff, day, view.longest_window).start)
    at = opened.event[known.rows]
    used = known.rows[(at >= begins) & (at < ends)]
    rows = _features(opened, view, day, used)
    return Snapshot(
        rows=rows,
        day=day,
        begins=interval.start,
        ends=interval.end,
        knowledge=knowledge,
        zone_data=zone_data_version(),
        counts=_counts(
            opened, known, knowledge, (begins, ends), too_late=_too_late(opened, view, day, used), entities=rows.num_rows
        ),
        completeness=completeness(opened, codes, interval, knowledge),
    )


def _features(log: Log, view: FeatureView, day: date, used: Rows) -> pa.Table:
    """Entity columns and features over the events `used`, one row per entity, sorted by entity."""
    columns = {spec.column: _column(log, spec.column) for spec in view.aggregates if spec.reads is not None}
    for spec in view.aggregates:
        if spec.reads is not None:
            check_values(spec, columns[spec.column])
    names = list(view.entity)
    keys = table_of({name: key_column(log.table, name, "log") for name in names})
    entity = shared_codes([keys], names, ["log"])[0]
    sort = np.lexsort((log.seq[used], log.available[used], log.event[used], entity[used]))
    ordered = used[sort]
    first = np.append(np.ones(min(ordered.size, 1), dtype=bool), entity[ordered][1:] != entity[ordered][:-1])
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], ordered.size)[: starts.size]
    found = {name: picked(keys.column(name), ordered[starts]) for name in names}
    values = {name: pa.chunked_array([picked(column, ordered)]) for name, column in columns.items()}
    for spec in view.aggregates:
        for days in view.windows:
            ranges = _window(log.event[ordered], starts, ends, to_micros(window_interval(view.cutoff, day, days).start))
            found[spec.output(days)] = aggregate(spec, values[spec.column] if spec.reads is not None else None, ranges)
    table = table_of(found).select([*names, *view.features])
    return table.take(sort_order(table, names)).combine_chunks()


def _window(event: Micros, starts: Rows, ends: Rows, begins: int) -> Ranges:
    """The events from `begins` on: each entity's rows are sorted by event time, so they are its last ones."""
    inside = np.concatenate([[0], np.cumsum(event >= begins)])
    return Ranges(start=ends - (inside[ends] - inside[starts]), end=ends)


def _column(log: Log, name: str) -> Column:
    if name not in log.table.schema.names:
        raise SchemaError(
            f"log.{name}",
            found=f"no such column among {log.table.schema.names}",
            expected="a column the view aggregates",
            remedy="Return it from the rows function.",
        )
    values = log.table.column(name)
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def _too_late(log: Log, view: FeatureView, day: date, used: Rows) -> int:
    """How many of the used events arrived after the settlement of the day they happened on."""
    days = [day - timedelta(days=back) for back in reversed(range(view.longest_window))]
    ends = np.array([to_micros(cutoff_instant(view.cutoff, one)) for one in days], dtype=np.int64)
    settled = np.array([to_micros(settled_at(view.cutoff, one)) for one in days], dtype=np.int64)
    return int((log.available[used] > settled[np.searchsorted(ends, log.event[used], side="right")]).sum())


def _counts(
    log: Log, known: Events, knowledge: datetime, window: tuple[int, int], *, too_late: int, entities: int
) -> SnapshotCounts:
    arrived = log.available <= to_micros(knowledge)
    at = log.event[known.rows]
    nobody = shared_codes([log.table], log.entity, ["log"])[0] == NULL_KEY
    return SnapshotCounts(
        arrived=int(arrived.sum()),
        null_key=int((arrived & nobody).sum()),
        superseded=known.superseded,
        retracted=known.retracted,
        tombstoned=known.tombstoned,
        ahead=int((at >= window[1]).sum()),
        before=int((at < window[0]).sum()),
        used=int(((at >= window[0]) & (at < window[1])).sum()),
        too_late=too_late,
        entities=entities,
    )
