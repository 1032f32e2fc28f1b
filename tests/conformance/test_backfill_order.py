"""Law 2 on the real flights: a backfill in any order gives the bytes of the daily runs, over both clock changes of 2013.

The daily runs go day by day, when only the days up to then have landed. The backfills come later, with everything there, and run whatever
a shuffled queue gives them next, waiting for what a run needs as the DAGs do.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from headrace.features.build import snapshots_needed
from headrace.features.versions import settled_key
from headrace.lake.local import LocalStore
from headrace.manifests.read import manifest_of, published
from headrace.spec.canonical import instant_from

from tests.headrace.features.flights_lake import FlightsLake, days

CLOCK_CHANGES = [pytest.param(date(2013, 3, 10), 23, id="spring"), pytest.param(date(2013, 11, 3), 25, id="autumn")]
BEFORE = timedelta(days=15)
COUNT = 30


def new_lake(folder: Path, start: date) -> FlightsLake:
    return FlightsLake(LocalStore(folder / "landing"), LocalStore(folder / "lake"), start)


def daily(folder: Path, start: date) -> FlightsLake:
    """Each day as it comes."""
    made = new_lake(folder, start)
    for day in days(start, COUNT):
        made.land([day])
        made.compact(day)
        made.snapshot(day)
        made.build(day)
    return made


def backfilled(folder: Path, start: date, seed: int, before: FlightsLake) -> FlightsLake:
    """All days there at once, snapshots and builds in shuffled order; what lacks its needs goes back into the queue."""
    made = new_lake(folder, start)
    shutil.copytree(Path(before.lake.uri.removeprefix("file://")) / "flights", folder / "lake" / "flights")
    queue: list[tuple[Callable[[date], object], date]] = [
        (step, day) for day in days(start, COUNT) for step in (made.snapshot, made.candidate)
    ]
    dice = random.Random(seed)
    while queue:
        step, day = queue.pop(dice.randrange(len(queue)))
        if step == made.candidate and snapshots_needed(made.training_set, made.view, day, lake=made.lake).missing:
            queue.append((step, day))
            continue
        step(day)
    return made


@pytest.mark.parametrize(("changes", "hours"), CLOCK_CHANGES)
def test_backfills_in_any_order_give_the_bytes_of_the_daily_runs(tmp_path: Path, changes: date, hours: int) -> None:
    """A month around the change, sixty versions and thirty training days: the same manifests, hence the same shards, twice."""
    start = changes - BEFORE
    on_time = daily(tmp_path / "daily", start)
    wanted = {name: on_time.digests(name) for name in ("carrier_delays", "flight_delay")}
    release = published(on_time.lake, "carrier_delays")
    of_change = manifest_of(on_time.lake, release, str(settled_key(on_time.view, changes))).facts["snapshot"]

    assert (len(wanted["carrier_delays"]), len(wanted["flight_delay"])) == (2 * COUNT, COUNT)
    assert instant_from(of_change["ends"]) - instant_from(of_change["begins"]) == timedelta(hours=hours)
    for seed in (1, 2):
        again = backfilled(tmp_path / f"backfill-{seed}", start, seed, on_time)

        assert {name: again.digests(name) for name in wanted} == wanted, f"seed {seed}"
