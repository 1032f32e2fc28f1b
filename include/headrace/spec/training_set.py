"""A training set: labels joined, point in time, to snapshots of feature views or to logs, and split strictly by time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from headrace.spec.canonical import not_content
from headrace.spec.cutoff import check_wait
from headrace.spec.errors import check
from headrace.spec.feature_view import FeatureView, check_days, check_owner, duplicates, is_day
from headrace.spec.label_set import LabelSet
from headrace.spec.live import LiveSource, check_live
from headrace.spec.log_join import LogJoin
from headrace.spec.names import check_name
from headrace.spec.zones import check_zone

ENGINES: Final = ("numpy", "duckdb", "spark")
"""Engines a training set may name. Their answers are equal row by row, so the choice is not content; spark needs the extra of that name."""


@dataclass(frozen=True, kw_only=True)
class TimeHoldout:
    """Labels from `start` on are held out; training labels must be known `embargo` before that.

    Attributes:
        start: first held-out day.
        embargo: the gap wanted between the last known training label and the first instant of `start`.
        timezone: the zone `start` is counted in; None: the one zone of the training set's views and logs.
    """

    start: date
    embargo: timedelta = timedelta(0)
    timezone: str | None = None

    def __post_init__(self) -> None:
        check(is_day(self.start), "TimeHoldout", "start", self.start, "a date")
        check_wait("TimeHoldout", "embargo", self.embargo)
        if self.timezone is not None:
            check_zone("TimeHoldout", "timezone", self.timezone)


@dataclass(frozen=True, kw_only=True)
class TrainingSet:
    """One table for training: a row per label, in the labels' order, with features as they were known at label time.

    Attributes:
        name: the training set's name.
        labels: the labels.
        views: the feature views joined to them through their snapshots.
        logs: the logs joined to them directly. Names of features must differ over all views and logs, and at least one of them
            is needed.
        ttl: a snapshot whose cutoff is older than this at label time counts as expired; None: none does. Zero is a ttl.
        holdout: the split. Only a split by time is offered: a random one hides leakage, because both parts then come from
            the same state of the data.
        quality: the policy that guards promotion, or None.
        live: where production's requests are recorded, for the daily monitor; None: there is no monitor.
        engine: which engine computes it.
        start: first day of labels; None: the latest start of the views and logs.
        end: last day of labels, inclusive, or None for no end.
        catchup: whether the schedule runs past days by itself.
        owner: who answers for it.
        freshness: how long after a day's labels are known its rows should be released.
    """

    name: str
    labels: LabelSet
    views: tuple[FeatureView, ...] = ()
    logs: tuple[LogJoin, ...] = ()
    ttl: timedelta | None = None
    holdout: TimeHoldout
    # Guards, engines, schedules and people change no row.
    quality: Any = not_content(default=None)
    live: LiveSource | None = not_content(default=None)
    engine: str = not_content(default="numpy")
    start: date | None = not_content(default=None)
    end: date | None = not_content(default=None)
    catchup: bool = not_content(default=False)
    owner: str = not_content()
    freshness: timedelta = not_content(default=timedelta(hours=6))

    def __post_init__(self) -> None:
        check_name("TrainingSet", "name", self.name)
        who = f"TrainingSet {self.name}"
        check(isinstance(self.labels, LabelSet), who, "labels", self.labels, "a LabelSet")
        _check_sources(who, self.views, self.logs, self.labels)
        if self.ttl is not None:
            check_wait(who, "ttl", self.ttl)
        check(
            isinstance(self.holdout, TimeHoldout),
            who,
            "holdout",
            self.holdout,
            "a TimeHoldout: a random split cannot show leakage, so only a split by time is offered",
        )
        check(self.engine in ENGINES, who, "engine", self.engine, f"one of {list(ENGINES)}")
        check_live(who, self.live, self.quality)
        check_days(who, self.first_day, self.end)
        check_owner(who, self.owner)
        zones = sorted({*(view.cutoff.timezone for view in self.views), *(log.timezone for log in self.logs)})
        one = self.holdout.timezone is not None or len(zones) == 1
        check(
            one, who, "holdout", self.holdout, f"a timezone in the TimeHoldout, because the views and logs use several: {zones}"
        )

    @property
    def sources(self) -> tuple[FeatureView | LogJoin, ...]:
        """Everything the labels are joined to, views first."""
        return (*self.views, *self.logs)

    @property
    def first_day(self) -> date:
        """The first day of labels."""
        return max(source.start for source in self.sources) if self.start is None else self.start

    @property
    def holdout_timezone(self) -> str:
        """The zone in which the holdout's first day is counted."""
        if self.holdout.timezone is not None:
            return self.holdout.timezone
        return self.views[0].cutoff.timezone if self.views else self.logs[0].timezone


def _check_sources(who: str, views: tuple[FeatureView, ...], logs: tuple[LogJoin, ...], labels: LabelSet) -> None:
    right = isinstance(views, tuple) and all(isinstance(view, FeatureView) for view in views)
    check(right, who, "views", views, "a tuple of FeatureView")
    check(isinstance(logs, tuple) and all(isinstance(log, LogJoin) for log in logs), who, "logs", logs, "a tuple of LogJoin")
    check(len(views) + len(logs) > 0, who, "views", views, "at least one FeatureView or, in `logs`, one LogJoin")
    sources: tuple[FeatureView | LogJoin, ...] = (*views, *logs)
    names = duplicates(source.name for source in sources)
    check(not names, who, "views", names, "each view and log once")
    for source in sources:
        foreign = sorted(set(source.entity) - set(labels.entity))
        check(not foreign, who, "views", foreign, f"entity columns of {source.name} that the labels have: {labels.entity}")
    twice = duplicates(feature for source in sources for feature in source.features)
    check(not twice, who, "views", twice, "feature names that differ between views and logs: rename the columns in one log")
    taken = sorted({feature for source in sources for feature in source.features} & set(labels.entity))
    check(not taken, who, "views", taken, "feature names that are no entity column of the labels")
