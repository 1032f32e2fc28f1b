"""When a partition is due, and whether it came in time.

A day's data is due a declared while after it could be complete: a dataset's after the day ends, a view's after its settlement, a training
set's after its labels are known. Only runs that the schedule started, and what followed from them, are judged: a backfill of an old
day is late by years and nobody's fault.
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
"""A run that an asset started is judged only when its day fell due this recently: older ones follow from a backfill."""


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """When a partition was due, and how late it came (negative: how early)."""

    due: datetime
    late: timedelta

    @property
    def is_late(self) -> bool:
        return self.late > timedelta(0)


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


def is_judged(kind: str, due: datetime, ended: datetime) -> bool:
    """Whether lateness means anything for a run of this kind."""
    return kind == "scheduled" or (kind == "asset_triggered" and ended - due < RECENT)


def freshness(due: datetime | None, kind: str, ended: datetime) -> Freshness | None:
    """How fresh a published partition was; None when it is not judged."""
    if due is None or not is_judged(kind, due, ended):
        return None
    return Freshness(due=due, late=ended - due)
