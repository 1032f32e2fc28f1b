"""The visible frontier: from a log with two clocks to steps that a plain as-of search answers exactly.

The question is: among an entity's rows with `x <= L` and `a <= L`, which has the greatest `(x, a, seq)`? An as-of join on
x leaks, one on a lets a late old event win, and one on x followed by "drop if not arrived" finds nothing where an older
value was there. With `v = max(a, x)` the rows visible at L are those with `v <= L`. Order an entity's rows by
`(v, a, seq)`; the visible ones are a prefix; the answer is the last row of the prefix whose x is at least every x before
it. So keep exactly these record-setters, the last of each `(entity, v)`, and search `v <= L`: no ties, nothing lost.

For equal x the later record-setter has the greater (a, seq), because v does not decrease with a while x stays.

A retraction takes a row out again, and a running maximum cannot forget; entities that have one (no others) are swept in the
same order with a heap of what is live. Cost: one sort of the log, a running maximum, a binary search per label.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from headrace.features.columns import Flags, Rows
from headrace.features.keys import Codes
from headrace.features.log import Log
from headrace.features.times import Micros

NO_ROW: Final = -1
"""No row was visible."""
WITHDRAWN: Final = -2
"""Rows were visible, and all of them had been retracted."""


@dataclass(frozen=True)
class Steps:
    """What is known of each group from each instant on, until the next step. Shape (steps,), sorted by group and instant.

    Attributes:
        group: dense codes of the groups.
        visible: microseconds UTC; strictly increasing inside a group.
        row: the log row that holds from then on, or `WITHDRAWN`.
    """

    group: Codes
    visible: Micros
    row: Rows


def visible_steps(log: Log, group: Codes) -> Steps:
    """The frontier of a log. `group` has the log's shape (rows,); rows with a negative code are in no group."""
    visible = np.maximum(log.event, log.available)
    if (
        group.size > 0 and not log.retraction.any() and int(group.min()) >= 0
    ):  # the common log: nothing to set apart, nothing to copy
        kept = record_setters(group, visible, log.event, log.available, log.seq)
        return Steps(group=group[kept], visible=visible[kept], row=kept)
    entangled = np.isin(group, np.unique(group[log.retraction]))
    plain = np.flatnonzero((group >= 0) & ~entangled)
    kept = plain[record_setters(group[plain], visible[plain], log.event[plain], log.available[plain], log.seq[plain])]
    simple = Steps(group=group[kept], visible=visible[kept], row=kept)
    swept = _swept_steps(log, group, visible, np.flatnonzero((group >= 0) & entangled))
    return simple if swept.group.size == 0 else _merged(simple, swept)


def record_setters(group: Codes, visible: Micros, best: Rows, *ties: Rows) -> Rows:
    """Positions of the rows that hold a record when they become visible, sorted by (group, visible).

    Args:
        group: shape (rows,), not negative.
        visible: when each row can be seen.
        best: what the record is about: the greatest wins, and among equals the one that comes later in the order.
        ties: the order among rows of equal group and visibility, the most significant first.
    """
    if group.size == 0:
        return np.empty(0, dtype=np.int64)
    order, ends = _order(group, visible, ties)
    packed = _packed(group, best)[order]
    record = packed == np.maximum.accumulate(packed)
    records: Rows = order[record]
    if ends.all():
        return records
    run = np.cumsum(ends)[record] - ends[record]
    last: Rows = records[np.append(run[1:] != run[:-1], True)]
    return last


def last_step(steps: Steps, group: Codes, at: Micros) -> Rows:
    """For each question the position of the last step of its group with `visible <= at`, or -1. Shape (questions,)."""
    if steps.group.size == 0:
        return np.full(group.shape, -1, dtype=np.int64)
    low, high = int(steps.visible.min()), int(steps.visible.max())
    clipped = np.clip(at, low - 1, high)
    groups = max(int(steps.group[-1]), int(group.max(initial=0))) + 2
    if groups * (high - low + 2) < 2**63:
        span = high - low + 2
        known, asked = steps.group * span + (steps.visible - low + 1), group * span + (clipped - low + 1)
    else:
        moments, rank = np.unique(steps.visible, return_inverse=True)
        span = moments.size + 1
        known, asked = steps.group * span + rank + 1, group * span + np.searchsorted(moments, clipped, side="right")
    order = np.argsort(asked)  # neighbours in the search touch neighbours in memory
    found = np.empty(asked.shape, dtype=np.int64)
    found[order] = np.searchsorted(known, asked[order], side="right") - 1
    own = (found >= 0) & (group >= 0) & (steps.group[np.maximum(found, 0)] == group)
    return np.where(own, found, -1)


def rows_at(steps: Steps, group: Codes, at: Micros) -> Rows:
    """For each question the log row that was known at `at`, `NO_ROW` or `WITHDRAWN`. Shape (questions,)."""
    step = last_step(steps, group, at)
    if steps.row.size == 0:
        return np.full(group.shape, NO_ROW, dtype=np.int64)
    return np.where(step >= 0, steps.row[np.maximum(step, 0)], NO_ROW)


def _order(group: Codes, visible: Micros, ties: tuple[Rows, ...]) -> tuple[Rows, Flags]:
    """Row positions sorted by (group, visible, *ties), stable, and for each whether it is the last of its (group, visible).

    Whole numbers are sorted five times faster than their positions. So the position is carried in the low bits of the number, in place of
    as many low bits of the moment; the few rows that then agree are sorted by all of it.
    """
    packed = _packed(group, visible)
    place_bits = max(packed.size - 1, 1).bit_length()
    dropped = max(int(packed.max()).bit_length() + place_bits - 63, 0)
    keys = ((packed >> dropped) << place_bits) | np.arange(packed.size)
    keys.sort()
    order = keys & ((1 << place_bits) - 1)
    keys >>= place_bits
    ends = np.append(keys[1:] != keys[:-1], True)
    close = np.flatnonzero(~ends)
    if close.size > 0:
        places = np.union1d(close, close + 1)
        tied = order[places]  # by position inside what agrees, so that what agrees on everything keeps its order
        tied = tied[np.lexsort((*(tie[tied] for tie in reversed(ties)), packed[tied]))]
        order[places] = tied
        neighbours = np.flatnonzero(np.diff(places) == 1)
        ends[places[neighbours]] = packed[tied[neighbours + 1]] != packed[tied[neighbours]]
    return order, ends


def _packed(group: Codes, value: Rows) -> Rows:
    """One int64 per row that compares as (group, value) does."""
    if group.size == 0:
        return np.empty(0, dtype=np.int64)
    low = int(value.min())
    span = int(value.max()) - low + 1
    if (int(group.max()) + 1) * span < 2**63:
        return group * span + (value - low)
    distinct, rank = np.unique(value, return_inverse=True)
    return group * distinct.size + rank


def _swept_steps(log: Log, group: Codes, visible: Micros, rows: Rows) -> Steps:
    """The steps of groups with retractions, by a sweep in (visible, available, seq) order."""
    ordered = rows[np.lexsort((log.seq[rows], log.available[rows], visible[rows], group[rows]))]
    codes = group[ordered]
    edges = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), ordered.size]
    found: list[tuple[int, int, int]] = []
    for start, end in pairwise(edges):
        found += [(int(codes[start]), at, row) for at, row in _sweep(log, visible, ordered[start:end].tolist())]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Steps(group=columns[:, 0], visible=columns[:, 1], row=columns[:, 2])


def _sweep(log: Log, visible: Micros, rows: list[int]) -> list[tuple[int, int]]:
    """(instant, row) whenever the greatest live row of one group changes."""
    steps: list[tuple[int, int]] = []
    heap: list[tuple[int, int, int, int]] = []
    versions: dict[int, list[int]] = {}
    live: set[int] = set()
    for position, row in enumerate(rows):
        if log.retraction[row]:
            live -= _withdrawn(log, versions, row)
        else:
            versions.setdefault(int(log.event[row]), []).append(row)
            live.add(row)
            heapq.heappush(heap, (-int(log.event[row]), -int(log.available[row]), -int(log.seq[row]), row))
        at = int(visible[row])
        if position + 1 < len(rows) and int(visible[rows[position + 1]]) == at:
            continue  # a step holds what is known after everything of its instant
        while heap and heap[0][3] not in live:
            heapq.heappop(heap)
        top = heap[0][3] if heap else WITHDRAWN
        if versions and (not steps or steps[-1][1] != top):
            steps.append((at, top))
    return steps


def _withdrawn(log: Log, versions: dict[int, list[int]], row: int) -> set[int]:
    """The versions a retraction withdraws: those of its event time that came before it."""
    earlier = versions.get(int(log.event[row]), [])
    if log.retracts_all[row]:
        return set(earlier)
    return {version for version in earlier if log.seq[version] == log.retracts[row]}


def _merged(one: Steps, other: Steps) -> Steps:
    group = np.concatenate([one.group, other.group])
    visible = np.concatenate([one.visible, other.visible])
    order = np.lexsort((visible, group))
    return Steps(group=group[order], visible=visible[order], row=np.concatenate([one.row, other.row])[order])
