"""The real flights on a local lake, driven by hand: what the DAGs do, without Airflow."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from headrace.features.audit import audit_candidate
from headrace.features.build import build_candidate
from headrace.features.materialise import materialise
from headrace.features.versions import scheduled_keys
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.manifests.promote import promote
from headrace.manifests.read import published
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_group
from headrace.shards.plan import batches
from headrace.spec.training_set import TrainingSet

from include.datasets.flights import CARRIER_DELAYS, FLIGHT_DELAY, FLIGHTS
from local.landing import flights_file, flights_table, source_objects

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)


def days(first: date, count: int) -> list[date]:
    return [first + timedelta(days=n) for n in range(count)]


@lru_cache(maxsize=1)
def _table() -> bytes:
    return flights_table(flights_file())


class FlightsLake:
    """Landing zone and lake in two folders."""

    def __init__(self, landing: LocalStore, lake: LocalStore, start: date, training_set: TrainingSet = FLIGHT_DELAY) -> None:
        self.landing, self.lake = landing, lake
        self.view = replace(CARRIER_DELAYS, start=start)
        self.training_set = replace(training_set, views=(self.view,), quality=None, live=None)

    def land(self, wanted: Iterable[date]) -> None:
        for one in source_objects(_table(), list(wanted)):
            self.landing.put_new(one.key, one.content)

    def compact(self, day: date) -> None:
        plan = plan_partition(FLIGHTS, day.isoformat(), source=self.landing, lake=self.lake)
        for group in itertools.chain(*batches(plan)):
            write_group(FLIGHTS, plan, group, source=self.landing, lake=self.lake)
        publish_partition(FLIGHTS, plan, run("compact", day), lake=self.lake)

    def snapshot(self, day: date) -> None:
        for key in scheduled_keys(self.view, day):
            materialise(self.view, key, run("snapshot", day), lake=self.lake, clock=CLOCK)

    def build(self, day: date) -> Manifest:
        made = build_candidate(self.training_set, day, run("build", day), lake=self.lake, observe=lambda _: {})
        audit_candidate(self.training_set, made, run("build", day), lake=self.lake)
        promote(self.lake, self.training_set.name, {day.isoformat(): made.digest}, {})
        return made

    def digests(self, dataset: str) -> dict[str, str]:
        return dict(published(self.lake, dataset).partitions)


def run(step: str, day: date) -> RunIdentity:
    return RunIdentity(dag=f"flights.{step}", run_id="by hand", kind="manual", partition_key=day.isoformat())
