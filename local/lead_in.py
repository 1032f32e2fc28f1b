"""What must have run before the first day asked for: the shards and snapshots its features look back on.

The training rows of a day join snapshots of the days before, and a snapshot covers the shards of its longest window. Days before a
declaration's start are absent and are not run. Lead-in days get shards and snapshots only; their training rows would need
lead-in of their own, without end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from headrace.features.needs import label_interval, log_days, snapshot_needs, version_log_days
from headrace.features.versions import settled_key
from headrace.spec.feature_view import FeatureView
from headrace.spec.load import Declarations


@dataclass(frozen=True, kw_only=True)
class LeadIn:
    """Days to run by root DAG, before the days asked for; empty where the data begins."""

    compact: dict[str, list[str]]
    snapshot: dict[str, list[str]]

    @property
    def days(self) -> set[date]:
        """Every lead-in day."""
        return {date.fromisoformat(key) for keys in (*self.compact.values(), *self.snapshot.values()) for key in keys}


def lead_in(declared: Declarations, first: date) -> LeadIn:
    """The lead-in of a range that begins with `first`."""
    snapshots: dict[str, set[date]] = {view.name: set() for view in declared.views}
    for training_set in declared.training_sets:
        interval = label_interval(training_set, first)
        if interval is None:
            continue  # a date its zone skipped has no labels
        for view in training_set.views:
            needed = snapshot_needs(view, interval).versions
            snapshots[view.name] |= {version.key.day for version in needed}
    shards: dict[str, set[date]] = {dataset.name: set() for dataset in declared.datasets}
    for view in declared.views:
        for day in {first, *snapshots[view.name]}:
            shards[view.log.dataset] |= set(_log_days(view, day))
    return LeadIn(
        compact={f"{name}.compact": _before(days, first) for name, days in shards.items()},
        snapshot={f"{name}.snapshot": _before(days, first) for name, days in snapshots.items()},
    )


def _log_days(view: FeatureView, day: date) -> tuple[date, ...]:
    """What the day's snapshot covers; of a log partitioned by arrival everything since its start."""
    if not view.log.by_arrival:
        return log_days(view, day)
    return version_log_days(view, settled_key(view, day))


def _before(days: Iterable[date], first: date) -> list[str]:
    return sorted(day.isoformat() for day in days if day < first)
