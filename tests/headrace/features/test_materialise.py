"""Snapshots in the lake: published once, a function of the log, and never ahead of the clock."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from headrace.features.errors import TooEarlyError
from headrace.features.materialise import Materialised, materialise, version_of, versions_between
from headrace.features.versions import preliminary_key, scheduled_keys, settled_key
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished, VersionExists
from headrace.manifests.read import published
from headrace.shards.table import read_partition
from headrace.spec.feature_view import FeatureView

from tests.headrace.features import rides
from tests.headrace.features.rides import CLOCK, DRIVERS, RUN, START

DAYS = [START + timedelta(days=n) for n in range(3)]
LIVE = replace(DRIVERS, live_since=START)


@pytest.fixture
def landed(landing: LocalStore, lake: LocalStore) -> LocalStore:
    """Three days; on the second a ride that is known only the day after the next."""
    rides.land(landing, DAYS[0], ("ada", 9, 1, 2), ("bob", 10, 1, 0))
    rides.land(landing, DAYS[1], ("ada", 9, 1, 3), ("ada", 20, 40, 5))
    rides.land(landing, DAYS[2], ("bob", 8, 1, 1))
    rides.compact(landing, lake, *DAYS)
    return lake


def make(lake: LocalStore, view: FeatureView, day: date, clock: datetime = CLOCK) -> list[Materialised]:
    return [materialise(view, key, RUN, lake=lake, clock=clock) for key in scheduled_keys(view, day)]


def rows(lake: LocalStore, done: Materialised) -> dict[str, tuple[int, int, int, int]]:
    """driver -> rides and tips over one day and two."""
    table = read_partition(lake, done.manifest)
    names = ("rides_1d", "rides_2d", "tip_sum_1d", "tip_sum_2d")
    return {row["driver"]: tuple(row[name] for name in names) for row in table.to_pylist()}  # type: ignore[misc] # four ints


def test_a_version_knows_what_had_arrived_by_its_time(landed: LocalStore) -> None:
    """Ada's evening ride of 2 January arrives on the 4th: the settled version has it, the preliminary has not."""
    preliminary, settled = make(landed, DRIVERS, DAYS[1])

    assert rows(landed, preliminary) == {"ada": (1, 2, 3, 5), "bob": (0, 1, None, 0)}
    assert rows(landed, settled) == {"ada": (2, 3, 8, 10), "bob": (0, 1, None, 0)}
    assert (preliminary.completeness["known"], preliminary.completeness["arrived"]) == (2, 1)


def test_any_order_of_days_makes_the_same_release(landed: LocalStore, tmp_path: object) -> None:
    """And so does running each of them twice."""
    digests = set()
    for order in itertools.permutations(DAYS):
        for key in list(published(landed, "rides").partitions):
            assert key in {day.isoformat() for day in DAYS}
        landed.delete("drivers/LATEST")
        for stored in list(landed.list("drivers/")):
            landed.delete(stored.key)
        for day in (*order, order[0]):
            done = make(landed, DRIVERS, day)
        digests.add(done[-1].release.digest)
        assert done[-1].release.number == 6

    assert len(digests) == 1


def test_a_missing_day_of_the_log_is_named(landing: LocalStore, lake: LocalStore) -> None:
    """Nothing is computed from what happens to be there."""
    rides.land(landing, DAYS[1], ("ada", 9, 1, 3))
    rides.compact(landing, lake, DAYS[1])

    with pytest.raises(NotPublished, match="no partition 2024-01-01"):
        make(lake, DRIVERS, DAYS[1])


def test_days_before_the_declared_start_are_absent(landed: LocalStore) -> None:
    """The first day's two-day window covers one day, and nobody waits for more."""
    done = make(landed, DRIVERS, DAYS[0])[1]

    assert [entry["partition"] for entry in done.manifest.facts["inputs"]] == ["2024-01-01"]


def test_a_clock_before_the_knowledge_time_publishes_nothing(landed: LocalStore) -> None:
    """The day is not settled yet."""
    early = datetime(2024, 1, 4, tzinfo=UTC) - timedelta(microseconds=1)

    with pytest.raises(TooEarlyError):
        materialise(LIVE, settled_key(LIVE, DAYS[0]), RUN, lake=landed, clock=early)
    assert versions_between(landed, LIVE, DAYS[0], DAYS[2]) == []


def test_a_live_version_keeps_its_first_publication(landed: LocalStore) -> None:
    """Run again months later, it is the same manifest with the same time."""
    first = datetime(2024, 1, 2, 0, 17, 3, tzinfo=UTC)
    key = preliminary_key(LIVE, DAYS[0])

    done = materialise(LIVE, key, RUN, lake=landed, clock=first)
    again = materialise(LIVE, key, RUN, lake=landed, clock=CLOCK)

    assert done.manifest == again.manifest
    assert done.release == again.release
    assert (version_of(again.manifest).published_at, version_of(again.manifest).synthetic) == (first, False)


def test_a_changed_log_never_replaces_a_live_version(landing: LocalStore, landed: LocalStore) -> None:
    """What was served stays; the error says to publish a rebuild."""
    make(landed, LIVE, DAYS[0])
    before = published(landed, "drivers")
    rides.land(landing, DAYS[0], ("ada", 9, 1, 999), ("bob", 10, 1, 0))
    rides.compact(landing, landed, DAYS[0])

    with pytest.raises(VersionExists, match="rebuild"):
        make(landed, LIVE, DAYS[0])
    assert published(landed, "drivers") == before


def test_a_changed_log_that_gives_the_same_rows_changes_no_version(landing: LocalStore, landed: LocalStore) -> None:
    """Only the order of the source's rows differs: the live version stays as it is, without an error."""
    make(landed, LIVE, DAYS[0])
    before = published(landed, "drivers")
    rides.land(landing, DAYS[0], ("bob", 10, 1, 0), ("ada", 9, 1, 2))
    rides.compact(landing, landed, DAYS[0])

    make(landed, LIVE, DAYS[0])

    assert published(landed, "drivers").partitions == before.partitions


def test_a_day_before_the_system_ran_is_made_again_from_the_corrected_log(landing: LocalStore, landed: LocalStore) -> None:
    """It was served to nobody; the old release keeps the old version."""
    old = make(landed, DRIVERS, DAYS[0])[1]
    rides.land(landing, DAYS[0], ("ada", 9, 1, 7))
    rides.compact(landing, landed, DAYS[0])

    new = make(landed, DRIVERS, DAYS[0])[1]

    assert rows(landed, new) == {"ada": (1, 1, 7, 7)}
    assert rows(landed, old) == {"ada": (1, 1, 2, 2), "bob": (1, 1, 0, 0)}
    assert new.release.number > old.release.number


def test_arrivals_after_the_knowledge_time_change_no_version(landing: LocalStore, landed: LocalStore) -> None:
    """Law 4: a row that arrived later is in the log now, and the version is the same bytes."""
    before = [done.manifest.shards for done in make(landed, DRIVERS, DAYS[0])]
    rides.land(landing, DAYS[0], ("ada", 9, 1, 2), ("bob", 10, 1, 0), ("eve", 11, 500, 9))
    rides.compact(landing, landed, DAYS[0])

    assert [done.manifest.shards for done in make(landed, DRIVERS, DAYS[0])] == before
