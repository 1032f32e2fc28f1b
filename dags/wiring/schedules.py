"""When DAGs run. The only module that names Airflow's partition classes, which are young: an upgrade touches one file.

A root DAG fires at local midnight for the day that just ended, and the partition key, that day's local date, is the identity of every run:
scheduled, manual, backfill. Local midnight and nothing later: with any other hour a manual run and a scheduled one of the same key
would have two partition dates, and a backfill would not see that the day was done.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

import pendulum
from airflow.sdk import Asset, CronPartitionTimetable, CronTriggerTimetable, PartitionedAssetTimetable, PartitionedAtRuntime

KEY_FORMAT: Final = "%Y-%m-%d"


def daily(timezone: str) -> CronPartitionTimetable:
    """At local midnight, for the day that ended."""
    return CronPartitionTimetable("0 0 * * *", timezone=timezone, run_offset=-1, key_format=KEY_FORMAT)


def after(*datasets: str) -> PartitionedAssetTimetable:
    """Once per key, when every one of these datasets has published that key."""
    condition: Any = Asset(datasets[0])  # `&` makes it a condition, whose class the SDK does not export
    for name in datasets[1:]:
        condition = condition & Asset(name)
    return PartitionedAssetTimetable(assets=condition)


def by_hand() -> PartitionedAtRuntime:
    """Never by itself; whoever triggers it gives the key."""
    return PartitionedAtRuntime()


def nightly() -> CronTriggerTimetable:
    """Every night, about no day in particular."""
    return CronTriggerTimetable("0 3 * * *", timezone="UTC")


def first_run(day: date, timezone: str) -> pendulum.DateTime:
    """A DAG's start date: the midnight that ends its first day. A run fires when its day is over."""
    return _midnight(day + timedelta(days=1), timezone)


def last_run(day: date | None, timezone: str) -> pendulum.DateTime | None:
    """A DAG's end date: the midnight that ends its last day; None where the data goes on."""
    return None if day is None else _midnight(day + timedelta(days=1), timezone)


def _midnight(day: date, timezone: str) -> pendulum.DateTime:
    return pendulum.datetime(day.year, day.month, day.day, tz=timezone)
