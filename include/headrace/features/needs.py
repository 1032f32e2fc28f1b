"""What a run needs before it may start: pure answers, so that the caller can wait for exactly that.

A run that finds an older snapshot because the right one is not there yet would be silently wrong, and a backfill in
another order would give other bytes. So needs are computed from the declaration and from what is known to be published,
never from what happens to lie in the lake. Days before the declared start are absent, not missing: nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from headrace.features.cutoff import Interval, cutoff_instant, day_of, local_date_interval, local_dates, window_interval
from headrace.features.versions import SnapshotKey, SnapshotVersion, declared_version, is_declared, scheduled_keys
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureView
from headrace.spec.log_join import LogJoin
from headrace.spec.training_set import TrainingSet

_DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class SnapshotNeeds:
    """The versions that some label time of an interval uses.

    Attributes:
        versions: all of them, oldest first; what is declared is listed with its declared publication.
        missing: those of `versions` that are not published yet and must be waited for.
    """

    versions: tuple[SnapshotVersion, ...]
    missing: tuple[SnapshotKey, ...]


def log_days(view: FeatureView, day: date) -> tuple[date, ...]:
    """The local dates whose log partitions a snapshot of `day` reads, oldest first, none before the view's start.

    For a midnight cutoff these are D-w+1 to D, w the longest window; a business-day cut reaches into one more date, and so
    does a night when the clock went back over midnight. Partitions are taken to be local dates of the view's own zone.
    """
    dates = local_dates(view.cutoff.timezone, window_interval(view.cutoff, day, view.longest_window))
    if dates is None:
        return ()
    first, last = max(dates[0], view.start), dates[1]
    return tuple(first + n * _DAY for n in range((last - first).days + 1))


def version_log_days(view: FeatureView, key: SnapshotKey) -> tuple[date, ...]:
    """The local dates whose log partitions one version is computed from, oldest first, none before the view's start.

    In a log partitioned by arrival: every date since the start up to the one that holds the last instant before the knowledge time.
    (An arrival at the very instant a date ends belongs to the next date and is known from that one on.) Of these, a run reads the ones
    since the newest state; the others are what that state was made of.
    """
    if not view.log.by_arrival:
        return log_days(view, key.day)
    last = day_of(dates_of(view), key.knowledge - timedelta(microseconds=1))
    return tuple(view.start + n * _DAY for n in range((last - view.start).days + 1))


def log_complete_at(view: FeatureView, key: SnapshotKey) -> datetime:
    """The first instant at which everything a version is computed from can have been published: nobody waits for it before.

    The knowledge time; in a log partitioned by arrival the end of the date that holds it, if that is later.
    """
    if not view.log.by_arrival:
        return key.knowledge
    last = day_of(dates_of(view), key.knowledge - timedelta(microseconds=1))
    return max(key.knowledge, cutoff_instant(dates_of(view), last))


def dates_of(view: FeatureView) -> Cutoff:
    """The local dates of the view's zone, which partitions are named by: they end at midnight, whatever hour the view's days are cut at."""
    return Cutoff(timezone=view.cutoff.timezone)


def joined_log_days(training_set: TrainingSet, join: LogJoin, day: date) -> tuple[date, ...]:
    """The local dates whose log partitions the labels of `day` are joined to, oldest first, none before the log's start.

    From the date that holds `ttl` before the first label to the date of the last one: what is older has expired for all of
    them, and what is newer is not known to any.
    """
    interval = label_interval(training_set, day)
    if interval is None:
        return ()
    dates = local_dates(join.timezone, Interval(interval.start - join.ttl, interval.end))
    if dates is None:
        return ()
    first, last = max(dates[0], join.start), dates[1]
    return tuple(first + n * _DAY for n in range((last - first).days + 1))


def labels_known_at(training_set: TrainingSet, day: date) -> datetime | None:
    """When the labels of local date `day` are mature and may be joined; None for a date the zone skipped."""
    interval = label_interval(training_set, day)
    return None if interval is None else interval.end + training_set.labels.maturity


def label_interval(training_set: TrainingSet, day: date) -> Interval | None:
    """Every instant whose local date is `day` in the holdout's zone; None for a date the zone skipped."""
    return local_date_interval(training_set.holdout_timezone, day)


def snapshot_needs(view: FeatureView, interval: Interval, published: Iterable[SnapshotVersion] = ()) -> SnapshotNeeds:
    """Exactly the versions that some label time of `interval` uses, found by walking back from its end.

    A label at L uses the best version published at or before L. Walking from the best version down, one is needed if it was
    published before every better one, and the walk ends at the first that was published at or before the interval's start:
    nothing below it can win. A live day's version that is not published yet is not needed: the clock is past the labels, so
    it will be published after them.

    Args:
        view: the view.
        interval: where the label times lie, `[start, end)`.
        published: the versions already published, of any day.
    """
    by_day: dict[date, dict[SnapshotKey, SnapshotVersion]] = {}
    for version in published:
        by_day.setdefault(version.key.day, {})[version.key] = version
    needed: list[SnapshotVersion] = []
    earliest = interval.end
    here = day_of(view.cutoff, interval.end)
    while here >= view.start and earliest > interval.start:
        for version in sorted(_expected(view, here, by_day.get(here, {})), key=lambda version: version.rank, reverse=True):
            if version.published_at < earliest and earliest > interval.start:
                needed.append(version)
                earliest = version.published_at
        here -= _DAY
    oldest_first = needed[::-1]
    known = {key for versions in by_day.values() for key in versions}
    return SnapshotNeeds(
        versions=tuple(oldest_first), missing=tuple(version.key for version in oldest_first if version.key not in known)
    )


def _expected(view: FeatureView, day: date, known: dict[SnapshotKey, SnapshotVersion]) -> list[SnapshotVersion]:
    """What is published of a day, and what will be with a publication that is already fixed."""
    declared = [declared_version(view, key) for key in scheduled_keys(view, day)] if is_declared(view, day) else []
    return [*known.values(), *(version for version in declared if version.key not in known)]
