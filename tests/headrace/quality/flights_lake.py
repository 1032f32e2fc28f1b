"""Real flights through the real core on a lake in a folder, without Airflow: the days of a training set, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import cache

from headrace.features.build import build_candidate
from headrace.features.materialise import materialise
from headrace.features.versions import preliminary_key, settled_key
from headrace.lake.local import LocalStore
from headrace.manifests.run import RunIdentity
from headrace.quality.gate import Checked, check_candidate
from headrace.quality.observe import observer
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_group
from headrace.shards.plan import batches
from headrace.spec.dataset import Dataset
from headrace.spec.training_set import TrainingSet

from include.datasets.flights import CARRIER_DELAYS, FLIGHTS
from local import landing

RUN = RunIdentity(dag="test", run_id="test", kind="local", partition_key="")

Change = Callable[[str, bytes], bytes | None]
"""From a key and its bytes to what is landed instead; None lands nothing."""


@cache
def table() -> bytes:
    return landing.flights_table(landing.flights_file())


def land(source: LocalStore, days: Sequence[date], change: Change = lambda _, content: content) -> None:
    """Land days as the example does, changed on the way."""
    for one in landing.source_objects(table(), days):
        content = change(one.key, one.content)
        if content is not None:
            source.put_new(one.key, content)


def publish_days(source: LocalStore, lake: LocalStore, days: Sequence[date], dataset: Dataset = FLIGHTS) -> None:
    """Shards of every day, then both snapshot versions of every day."""
    for day in days:
        plan = plan_partition(dataset, day.isoformat(), source=source, lake=lake)
        for group in (group for batch in batches(plan) for group in batch):
            write_group(dataset, plan, group, source=source, lake=lake)
        publish_partition(dataset, plan, RUN, lake=lake)
    for day in days:
        for key in (preliminary_key(CARRIER_DELAYS, day), settled_key(CARRIER_DELAYS, day)):
            materialise(CARRIER_DELAYS, key, RUN, lake=lake, clock=datetime.now(UTC))


def candidate(training_set: TrainingSet, day: date, lake: LocalStore) -> str:
    """Join one day; the candidate's digest."""
    key = day.isoformat()
    return build_candidate(training_set, day, RUN, lake=lake, observe=observer(training_set, key)).digest


def checked(training_set: TrainingSet, day: date, lake: LocalStore) -> tuple[str, Checked]:
    """Join and judge one day: the candidate and what the gate said."""
    digest = candidate(training_set, day, lake)
    return digest, check_candidate(training_set, day.isoformat(), digest, RUN, lake=lake)
