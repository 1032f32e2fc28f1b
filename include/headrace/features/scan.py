"""Answers by scan, straight from the definitions: every version, every row, one label at a time, in plain Python.

The audit compares the builder with this. So nothing of the builder is used here: no frontier, no sort, no search, no numpy; only the
doors (types, zones, rounding), which both sides must share to talk about the same rows. It is slow on purpose, and meant for a
sample of labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import localcontext
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from headrace.features.cutoff import window_interval
from headrace.features.log import open_log
from headrace.features.versions import SnapshotVersion
from headrace.spec.aggregates import Aggregate, Function
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin

Key = tuple[Any, ...]
_DIGITS: Final = 80
"""Of a sum of decimals: Python's own 28 would round what 38 digits hold."""


@dataclass(frozen=True)
class LogRow:
    """One log row: its clocks x and a, its place among equals, its marks, and everything else it says."""

    x: datetime
    a: datetime
    seq: int
    tombstone: bool
    retraction: bool
    retracts: int | None
    says: Mapping[str, Any]

    @property
    def order(self) -> tuple[datetime, datetime, int]:
        """(x, a, seq): of the visible rows the greatest is the answer."""
        return (self.x, self.a, self.seq)


@dataclass(frozen=True)
class Answer:
    """What a label should have got: the row it comes from, and the values; no values where that row gives none."""

    row: LogRow | None
    values: Mapping[str, Any]


def scan_version(versions: Iterable[SnapshotVersion], at: datetime) -> SnapshotVersion | None:
    """Of the versions published at or before `at` the newest day's, and of that day the one that knows most."""
    best: SnapshotVersion | None = None
    for version in versions:
        if version.published_at <= at and (best is None or version.rank > best.rank):
            best = version
    return best


def rows_of(log: pa.Table, entity: Sequence[str], keys: Iterable[Key]) -> dict[Key, list[LogRow]]:
    """The log's rows of some entities, by entity; every key asked for is there, also without rows."""
    opened = open_log(log, entity)
    found: dict[Key, list[LogRow]] = {key: [] for key in keys}
    marks = (opened.seq, opened.tombstone, opened.retraction, opened.retracts, opened.retracts_all)
    ids = zip(*(log.column(name).to_pylist() for name in entity), strict=True)
    for number, key in enumerate(ids):
        if key in found:
            seq, tombstone, retraction, retracts, everything = (column[number].item() for column in marks)
            says = opened.table.slice(number, 1).to_pylist()[0]
            one = None if everything else int(retracts)
            row = LogRow(says["event_time"], says["available_time"], int(seq), bool(tombstone), bool(retraction), one, says)
            found[key].append(row)
    return found


def scan_log(rows: Sequence[LogRow], join: LogJoin, at: datetime, columns: Sequence[str]) -> Answer:
    """The newest row of one entity that had happened and arrived by `at`, and what it says of `columns`."""
    nothing = dict.fromkeys(columns)
    until = at - timedelta(microseconds=1) if join.strict else at
    visible = [row for row in rows if row.x <= until and row.a <= until]
    live = [row for row in visible if not row.retraction and not any(_withdraws(other, row) for other in visible)]
    if not live:
        return Answer(None, nothing)
    best = max(live, key=lambda row: row.order)
    if best.tombstone or at - best.x > join.ttl:
        return Answer(best, nothing)
    return Answer(best, {name: best.says[name] for name in columns})


def said(rows: Sequence[LogRow], column: str) -> list[LogRow]:
    """The rows that say something of a column that is carried forward."""
    return [row for row in rows if row.says[column] is not None or row.tombstone or row.retraction]


def scan_features(rows: Sequence[LogRow], view: FeatureView, day: date, knowledge: datetime) -> dict[str, Any] | None:
    """One entity's features at the end of `day` as known at `knowledge`; None when it has no event in the longest window."""
    events = _events(rows, view.log.event_key, knowledge)
    ends = window_interval(view.cutoff, day, 1).end
    inside = [row for row in events if window_interval(view.cutoff, day, view.longest_window).start <= row.x < ends]
    if not inside:
        return None
    found: dict[str, Any] = {}
    for spec in view.aggregates:
        for days in view.windows:
            begins = window_interval(view.cutoff, day, days).start
            window = sorted((row for row in inside if row.x >= begins), key=lambda row: row.order)
            found[spec.output(days)] = _aggregate(spec, window)
    return found


def _events(rows: Sequence[LogRow], event_key: Sequence[str], knowledge: datetime) -> list[LogRow]:
    """Of each event the version that arrived last by `knowledge` and was not withdrawn; cancelled events left out."""
    known = [row for row in rows if row.a <= knowledge]
    if not event_key:
        return known
    events: dict[Key, list[LogRow]] = {}
    for row in known:
        events.setdefault(tuple(row.says[name] for name in event_key), []).append(row)
    newest = []
    for versions in events.values():
        live = [row for row in versions if not row.retraction and not any(_takes_back(other, row) for other in versions)]
        if live:
            newest.append(max(live, key=lambda row: (row.a, row.seq, row.x)))
    return [row for row in newest if not row.tombstone]


def _takes_back(one: LogRow, other: LogRow) -> bool:
    """Whether the retraction `one` withdraws the version `other` of the same event."""
    return one.retraction and (one.a, one.seq) > (other.a, other.seq) and one.retracts in (None, other.seq)


def _withdraws(one: LogRow, other: LogRow) -> bool:
    """The same on a log without events: what is withdrawn is what was said about one event time."""
    return one.x == other.x and _takes_back(one, other)


def _aggregate(spec: Aggregate, window: Sequence[LogRow]) -> Any:
    if spec.reads is None:
        return len(window)
    values = [row.says[spec.column] for row in window]
    if spec.function in (Function.FIRST, Function.LAST):
        return None if not values else values[0 if spec.function is Function.FIRST else -1]
    there = [value for value in values if value is not None]
    if spec.function is Function.DISTINCT:
        return len(set(there))
    if not there:
        return None
    if spec.function in (Function.MIN, Function.MAX):
        return min(there) if spec.function is Function.MIN else max(there)
    return _arithmetic(spec.function, there)


def _arithmetic(function: Function, values: Sequence[Any]) -> Any:
    if function is Function.STDDEV:
        return _deviation([Fraction(value) for value in values])
    if isinstance(values[0], float):
        total = float(sum(map(Fraction, values)))
        return total if function is Function.SUM else total / len(values)
    with localcontext(prec=_DIGITS):
        exact_total = sum(values)
    return exact_total if function is Function.SUM else float(Fraction(exact_total) / len(values))


def _deviation(values: Sequence[Fraction]) -> float | None:
    """In units of a power of two as large as the widest difference, so that no square leaves float64."""
    n, mean = len(values), sum(values, Fraction()) / len(values)
    widest = max(abs(value - mean) for value in values)
    if n < 2 or widest == 0:
        return None if n < 2 else 0.0
    exponent = widest.numerator.bit_length() - widest.denominator.bit_length()
    squares = sum((((value - mean) / Fraction(2) ** exponent) ** 2 for value in values), Fraction())
    return math.ldexp(math.sqrt(squares / (n - 1)), exponent)
