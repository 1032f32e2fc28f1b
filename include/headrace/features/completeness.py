"""How complete a day was at a knowledge time, seen from what is known now.

The figures grow as rows arrive, so they belong in a report and never in a snapshot's content. They answer: how many of
the day's events had arrived by K, how late do events come, and how many rows came too late for this version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from headrace.features.cutoff import Interval, to_micros
from headrace.features.events import first_arrivals
from headrace.features.keys import Codes
from headrace.features.log import Log
from headrace.features.times import Micros


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """Quantiles of `a - x`, by nearest rank: each is the lateness of some event. None when there is no event."""

    p50: timedelta | None
    p90: timedelta | None
    p99: timedelta | None
    worst: timedelta | None


@dataclass(frozen=True, kw_only=True)
class Completeness:
    """A day's events as known now.

    Attributes:
        known: events of the day that have arrived by now; versions of one event count once, by the first to arrive.
        arrived: of these, how many had arrived by K.
        too_late: the others.
        share: `arrived / known`; None for a day without events.
        lateness: how late the day's events came.
    """

    known: int
    arrived: int
    too_late: int
    share: float | None
    lateness: Lateness


def completeness(log: Log, codes: Codes, day: Interval, knowledge: datetime) -> Completeness:
    """The completeness of `day` at `knowledge` (inclusive), given every row of the log, also those that arrived later."""
    rows, lateness = first_arrivals(log, codes)
    inside = (log.event[rows] >= to_micros(day.start)) & (log.event[rows] < to_micros(day.end))
    known = int(inside.sum())
    arrived = int((log.available[rows[inside]] <= to_micros(knowledge)).sum())
    return Completeness(
        known=known,
        arrived=arrived,
        too_late=known - arrived,
        share=arrived / known if known > 0 else None,
        lateness=_lateness(np.sort(lateness[inside])),
    )


def _lateness(ordered: Micros) -> Lateness:
    p50, p90, p99, worst = (_nearest_rank(ordered, percent) for percent in (50, 90, 99, 100))
    return Lateness(p50=p50, p90=p90, p99=p99, worst=worst)


def _nearest_rank(ordered: Micros | Sequence[int], percent: int) -> timedelta | None:
    if len(ordered) == 0:
        return None
    return timedelta(microseconds=int(ordered[-(-percent * len(ordered) // 100) - 1]))
