"""Small builders for feature tests: instants from text, logs and views from literals."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
from headrace.features.training_rows import PublishedSnapshot
from headrace.features.versions import SnapshotKey, SnapshotVersion
from headrace.spec.aggregates import count, mean, share
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureLog, FeatureView
from headrace.spec.label_set import LabelSet
from headrace.spec.training_set import TimeHoldout, TrainingSet

INSTANT = pa.timestamp("us", tz="UTC")


def at(text: str) -> datetime:
    """`2013-01-03T05:00` in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def instants(*texts: str) -> pa.Array:
    """A timestamp[us, UTC] array."""
    return pa.array([at(text) for text in texts], INSTANT)


def view(**changes: Any) -> FeatureView:
    """Delays per carrier in New York's days, over one and seven days."""
    fields: dict[str, Any] = {
        "name": "carrier_delays",
        "entity": ("carrier",),
        "log": FeatureLog(dataset="flights", rows="some.module:rows"),
        "aggregates": (count("flights"), mean("arr_delay"), share("late")),
        "windows": (1, 7),
        "cutoff": Cutoff(timezone="America/New_York"),
        "start": date(2013, 1, 1),
        "owner": "data-platform",
    }
    return FeatureView(**(fields | changes))


def training_set(*views: FeatureView, **changes: Any) -> TrainingSet:
    """Delay labels joined to the views, held out from 5 January."""
    fields: dict[str, Any] = {
        "name": "flight_delay",
        "labels": LabelSet(name="delayed", dataset="flights", rows="some.module:labels", entity=("carrier",)),
        "views": views or (view(),),
        "holdout": TimeHoldout(start=date(2013, 1, 5)),
        "owner": "data-platform",
    }
    return TrainingSet(**(fields | changes))


def version(text: str, published: str, *, synthetic: bool = False) -> SnapshotVersion:
    """A version from its key's text and its publication."""
    return SnapshotVersion(key=SnapshotKey.parse(text), published_at=at(published), synthetic=synthetic)


def snapshot(text: str, published: str, flights: dict[str, int]) -> PublishedSnapshot:
    """A published snapshot whose features are all derived from one number per carrier."""
    rows = pa.table(
        {
            "carrier": pa.array(list(flights), pa.string()),
            "flights_1d": pa.array(list(flights.values()), pa.int64()),
            "flights_7d": pa.array([10 * n for n in flights.values()], pa.int64()),
            "arr_delay_mean_1d": pa.array([n / 2 for n in flights.values()], pa.float64()),
            "arr_delay_mean_7d": pa.array([n / 4 for n in flights.values()], pa.float64()),
            "late_share_1d": pa.array([0.5] * len(flights), pa.float64()),
            "late_share_7d": pa.array([0.25] * len(flights), pa.float64()),
        }
    )
    return PublishedSnapshot(version=version(text, published), rows=rows)


def labels(*rows: tuple[str | None, str], known_after: timedelta = timedelta(hours=3)) -> pa.Table:
    """Labels of (carrier, label time); each is known `known_after` later."""
    times = [at(text) for _, text in rows]
    return pa.table(
        {
            "label_id": pa.array(range(len(rows)), pa.int64()),
            "carrier": pa.array([carrier for carrier, _ in rows], pa.string()),
            "label_time": pa.array(times, INSTANT),
            "label_known_time": pa.array([time + known_after for time in times], INSTANT),
            "label": pa.array([n % 2 == 0 for n in range(len(rows))], pa.bool_()),
        }
    )


def log(*rows: tuple[Any, ...], columns: tuple[str, ...] = ("arr_delay", "late")) -> pa.Table:
    """Log rows of (carrier, event time, available time, values...)."""
    types = {"arr_delay": pa.int64(), "late": pa.bool_(), "tombstone": pa.bool_(), "retraction": pa.bool_(), "seq": pa.int64()}
    data: dict[str, pa.Array] = {
        "carrier": pa.array([row[0] for row in rows], pa.string()),
        "event_time": pa.array([at(row[1]) for row in rows], INSTANT),
        "available_time": pa.array([at(row[2]) for row in rows], INSTANT),
    }
    for position, name in enumerate(columns, start=3):
        data[name] = pa.array([row[position] for row in rows], types.get(name, pa.string()))
    return pa.table(data)
