"""When a partition is due, and whether it came in time.

A day's data is due a declared while after it could be complete: a dataset's after the day ends, a view's after its settlement, a training
set's after its labels are known. Only runs that the schedule started, and what followed from them, are judged: a backfill of an old
day would be late by years, and nobody's fault. The same holds for a scheduled run that catches up, of a DAG that was paused or is new: it
began when its day had been due for long. A run that began in time and took for ever is late, and so is one of a scheduler that stood
still for a night.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from headrace.features.cutoff import local_date_interval, settled_at
from headrace.features.needs import labels_known_at
from headrace.spec.dataset import Dataset
from headrace.spec.feature_view import FeatureView
from headrace.spec.training_set import TrainingSet

RECENT: Final = timedelta(days=3)
"""A run is judged when its day was not yet due, or fell due this recently, when the run was queued: others catch up on old days."""


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """When a partition was due, and how late it came (negative: how early); `caught_up`: long after, by a run that began long after."""

    due: datetime
    late: timedelta
    caught_up: bool = False

    @property
    def is_late(self) -> bool:
        return self.late > timedelta(0) and not self.caught_up


def due_at(declared: Dataset | FeatureView | TrainingSet, day: date) -> datetime | None:
    """When the partition of `day` should be published, UTC; None for a day of which nothing is expected."""
    ready = ready_at(declared, day)
    return None if ready is None else ready + declared.freshness


def ready_at(declared: Dataset | FeatureView | TrainingSet, day: date) -> datetime | None:
    """The first instant at which the partition of `day` can be complete, UTC."""
    if isinstance(declared, FeatureView):
        return settled_at(declared.cutoff, day)
    if isinstance(declared, TrainingSet):
        return labels_known_at(declared, day)
    interval = local_date_interval(declared.timezone, day)
    return None if interval is None else interval.end


def is_catch_up(expected: datetime, queued: datetime) -> bool:
    """Whether a run that was expected at an instant was queued so long after that its lateness means nothing."""
    return queued - expected >= RECENT


def freshness(due: datetime | None, kind: str, *, queued: datetime, ended: datetime) -> Freshness | None:
    """How fresh a published partition was; None when it is not judged.

    Args:
        due: None when nothing is expected.
        kind: as Airflow names it. A run that an asset started on an old day follows from a backfill or from a catch-up: not judged.
        queued: when the run could first start.
    """
    if due is None or kind not in ("scheduled", "asset_triggered"):
        return None
    caught_up = is_catch_up(due, queued)
    if caught_up and kind == "asset_triggered":
        return None
    return Freshness(due=due, late=ended - due, caught_up=caught_up)
