"""Why one training row holds what it holds: a timeline of what there was, what was used, and what was rightly ignored.

Built by looking at everything, in hindsight and one label at a time, with the definitions of `headrace.features.scan`. It explains; it
decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from headrace.features.cutoff import cutoff_instant
from headrace.features.leakage import Material
from headrace.features.scan import LogRow, rows_of, scan_log, scan_version
from headrace.features.training_rows import PublishedSnapshot
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TrainingSet

SHOWN: Final = 4
"""Entries shown on either side of the one that was used."""


class Fate(StrEnum):
    """What became of an entry."""

    USED = "used"
    OLDER = "older"  # there in time, and something newer was too
    TOO_LATE = "too late"  # not there yet at label time: using it would leak
    AHEAD = "ahead"  # had not even happened
    LABEL = "label"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of a timeline: when it could first be known, what it is, and why it was used or not."""

    at: datetime
    fate: Fate
    what: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The timeline of one source for one label, in the order in which things became known.

    Attributes:
        source: the view or log.
        values: what the training row holds.
        reason: why a value is null, if one is.
        entries: the timeline, the label itself among them.
        left_out: entries further away than those shown.
    """

    source: str
    values: Mapping[str, Any]
    reason: str | None
    entries: tuple[Entry, ...]
    left_out: int


def explain_row(training_set: TrainingSet, row: Mapping[str, Any], made_of: Material) -> tuple[Explanation, ...]:
    """One explanation per view and log.

    Args:
        row: the training row, by column.
        made_of: what its day was made of, and what was published and arrived since.
    """
    views = [_of_view(view, row, _everything(view, made_of)) for view in training_set.views]
    logs = [_of_log(join, row, made_of.logs[join.name]) for join in training_set.logs]
    return (*views, *logs)


def _everything(view: FeatureView, made_of: Material) -> list[PublishedSnapshot]:
    found = {one.version.key: one for one in (*made_of.published.get(view.name, ()), *made_of.snapshots[view.name])}
    return list(found.values())


def _of_view(view: FeatureView, row: Mapping[str, Any], published: Sequence[PublishedSnapshot]) -> Explanation:
    at: datetime = row["label_time"]
    used = scan_version((one.version for one in published), at)
    entries = [_version_entry(view, row, one, used, at) for one in published]
    values = {name: row[name] for name in view.features}
    return _timeline(view.name, values, row[f"{view.name}__reason"], entries, at)


def _version_entry(view: FeatureView, row: Mapping[str, Any], one: PublishedSnapshot, used: Any, at: datetime) -> Entry:
    version = one.version
    ended = cutoff_instant(view.cutoff, version.key.day)
    declared = " (declared)" if version.synthetic else ""
    what = f"{version.key.day} {version.key.kind}, published{declared}: {_said(_row_of(one.rows, view, row))}"
    if version == used:
        return Entry(at=version.published_at, fate=Fate.USED, what=what, why="the newest day that could be read at label time")
    if version.published_at <= at:
        return Entry(
            at=version.published_at, fate=Fate.OLDER, what=what, why="a newer day, or more of the same day, could be read"
        )
    why = (
        "its day was not over" if ended > at else f"its day had ended at {_clock(ended)}, but nobody could read it at label time"
    )
    return Entry(at=version.published_at, fate=Fate.AHEAD if ended > at else Fate.TOO_LATE, what=what, why=why)


def _row_of(rows: pa.Table, view: FeatureView, row: Mapping[str, Any]) -> dict[str, Any] | None:
    for there in rows.to_pylist():
        if all(row[name] is not None and there[name] == row[name] for name in view.entity):
            return {name: there[name] for name in view.features}
    return None


def _of_log(join: LogJoin, row: Mapping[str, Any], log: pa.Table) -> Explanation:
    at: datetime = row["label_time"]
    key = tuple(row[name] for name in join.entity)
    mine = [] if None in key else rows_of(log, join.entity, [key])[key]
    unbounded = replace(join, carry_forward=())
    used = scan_log(mine, unbounded, at, join.features).row
    entries = [_log_entry(join, one, used, at) for one in mine]
    values = {name: row[name] for name in join.features}
    return _timeline(join.name, values, row[f"{join.name}__reason"], entries, at)


def _log_entry(join: LogJoin, one: LogRow, used: LogRow | None, at: datetime) -> Entry:
    known = max(one.x, one.a)
    what = f"happened {_clock(one.x)}, arrived {_clock(one.a)}: {_mark(one)}{_said({n: one.says[n] for n in join.features})}"
    if one is used:
        old = at - one.x > join.ttl
        why = f"the newest that had arrived, but older than the ttl of {join.ttl}" if old else "the newest that had arrived"
        return Entry(at=known, fate=Fate.USED, what=what, why=why)
    if one.x > at:
        return Entry(at=known, fate=Fate.AHEAD, what=what, why="had not happened yet")
    if one.a > at:
        return Entry(at=known, fate=Fate.TOO_LATE, what=what, why=f"had happened, but arrived {one.a - at} after the label")
    return Entry(at=known, fate=Fate.OLDER, what=what, why="something newer had arrived, or it was withdrawn")


def _mark(one: LogRow) -> str:
    return "retraction, " if one.retraction else ("tombstone, " if one.tombstone else "")


def _timeline(source: str, values: Mapping[str, Any], reason: str | None, entries: list[Entry], at: datetime) -> Explanation:
    """The entries nearest to the label on both sides, and the one that was used wherever it stands."""
    ordered = sorted(entries, key=lambda entry: entry.at)
    before, after = [one for one in ordered if one.at <= at], [one for one in ordered if one.at > at]
    late = [one for one in after if one.fate is Fate.TOO_LATE] or after
    near = [one for one in before if one.fate is Fate.USED or one in before[-SHOWN:]]
    label = Entry(at=at, fate=Fate.LABEL, what="the label's time: nothing below was known", why="")
    shown = (*near, label, *late[:SHOWN])
    return Explanation(
        source=source, values=values, reason=reason, entries=shown, left_out=len(entries) - len(near) - len(late[:SHOWN])
    )


def _said(values: Mapping[str, Any] | None) -> str:
    if values is None:
        return "no row of this entity"
    return ", ".join(f"{name}={round(value, 3) if isinstance(value, float) else value}" for name, value in values.items())


def _clock(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%d %H:%M:%SZ")
