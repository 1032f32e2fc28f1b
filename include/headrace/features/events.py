"""From log rows to events: what each event was known to be at one knowledge time.

Rows that agree on entity and event key are versions of one event. Known at K is the version that arrived last by
`a <= K` (equal arrivals: greatest seq, then greatest x), after retractions took theirs away; where that version is a tombstone, the
event did not happen. A later version may move the event to another time: the event then counts there and nowhere else.
Without an event key every row is an event of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headrace.features.columns import Rows, nulls
from headrace.features.errors import RowsError, SchemaError, row_numbers
from headrace.features.keys import NULL_KEY, Codes, shared_codes
from headrace.features.log import Log
from headrace.features.times import Micros


@dataclass(frozen=True)
class Events:
    """The events of a log as known at one time.

    Attributes:
        rows: log rows, one per event that happened, in log order.
        superseded: rows that a later version of their event replaced.
        retracted: rows that a retraction withdrew.
        tombstoned: events that a tombstone cancelled.
    """

    rows: Rows
    superseded: int
    retracted: int
    tombstoned: int


def event_codes(log: Log, event_key: Sequence[str]) -> Codes:
    """One code per row, equal for versions of one event; -1 for rows whose entity is null.

    Raises:
        SchemaError: the log cancels or retracts, and no event key says which event.
        RowsError: a null in an event key column.
    """
    if not event_key:
        marked = np.flatnonzero(log.tombstone | log.retraction)
        if marked.size > 0:
            raise SchemaError(
                "FeatureLog.event_key",
                found=f"none, and a tombstone or retraction in {row_numbers(marked)}",
                expected="the columns that identify an event inside its entity",
                remedy="Declare event_key, so that it is known which event is meant.",
            )
        return np.where(shared_codes([log.table], log.entity, ["log"])[0] == NULL_KEY, NULL_KEY, np.arange(log.event.size))
    for column in event_key:
        if column in log.table.schema.names and log.table.column(column).null_count > 0:
            rows = np.flatnonzero(nulls(log.table.column(column)))
            raise RowsError(
                f"log.{column}", found=f"null in {row_numbers(rows)}", expected="an event key", remedy="Identify the event."
            )
    keys = list(dict.fromkeys((*log.entity, *event_key)))
    return shared_codes([log.table], keys, ["log"])[0]


def events_known_at(log: Log, codes: Codes, knowledge: int) -> Events:
    """The events as known at `knowledge`, microseconds UTC, inclusive."""
    rows = np.flatnonzero((log.available <= knowledge) & (codes >= 0))
    withdrawn = _withdrawn(log, codes, rows)
    rows = rows[~log.retraction[rows]]
    live = rows[~np.isin(rows, withdrawn)] if withdrawn.size > 0 else rows
    order = live[version_order(log, codes, live)]
    newest = order[np.append(codes[order][1:] != codes[order][:-1], np.ones(min(order.size, 1), dtype=bool))]
    happened = newest[~log.tombstone[newest]]
    return Events(
        rows=np.sort(happened),
        superseded=live.size - newest.size,
        retracted=rows.size - live.size,
        tombstoned=newest.size - happened.size,
    )


def version_order(log: Log, codes: Codes, rows: Rows) -> Rows:
    """Positions in `rows` by event, then from its oldest version to its newest: by (a, seq, x), which no two rows of an event share."""
    return np.lexsort((log.event[rows], log.seq[rows], log.available[rows], codes[rows]))


def first_arrivals(log: Log, codes: Codes) -> tuple[Rows, Micros]:
    """For every event ever reported, the row that reported it first, and its lateness `a - x` in microseconds."""
    rows = np.flatnonzero((codes >= 0) & ~log.retraction & ~log.tombstone)
    order = rows[version_order(log, codes, rows)]
    first = order[np.append(np.ones(min(order.size, 1), dtype=bool), codes[order][1:] != codes[order][:-1])]
    return first, log.available[first] - log.event[first]


def _withdrawn(log: Log, codes: Codes, rows: Rows) -> Rows:
    """The visible versions that visible retractions took away; few, so a plain loop over retractions' events."""
    retractions = rows[log.retraction[rows]]
    if retractions.size == 0:
        return np.empty(0, dtype=np.int64)
    candidates = rows[np.isin(codes[rows], codes[retractions]) & ~log.retraction[rows]]
    by_event: dict[int, list[int]] = {}
    for row in candidates.tolist():
        by_event.setdefault(int(codes[row]), []).append(row)
    gone = [
        version
        for retraction in retractions.tolist()
        for version in by_event.get(int(codes[retraction]), [])
        if (log.available[version], log.seq[version]) < (log.available[retraction], log.seq[retraction])
        and (log.retracts_all[retraction] or log.seq[version] == log.retracts[retraction])
    ]
    return np.unique(np.array(gone, dtype=np.int64))
