"""A day of training rows in the lake: only what could be seen, and always from the snapshots it names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from headrace.features.build import build_candidate, join_day, snapshots_needed
from headrace.features.materialise import materialise
from headrace.features.versions import scheduled_keys
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.manifests.read import latest
from headrace.shards.table import read_partition

from tests.headrace.features import rides
from tests.headrace.features.rides import CLOCK, DRIVERS, RUN, START, TIPPED

DAYS = [START + timedelta(days=n) for n in range(4)]


@pytest.fixture
def landed(landing: LocalStore, lake: LocalStore) -> LocalStore:
    """Four days with one ride of Ada each at 00:30 and 09:00, the tip being the day of the month."""
    for day in DAYS:
        rides.land(landing, day, ("ada", 0, 1, day.day), ("ada", 9, 1, 0))
    rides.compact(landing, lake, *DAYS)
    return lake


def snapshots(lake: LocalStore, *days: object) -> None:
    for day in days:
        for key in scheduled_keys(DRIVERS, day):  # type: ignore[arg-type] # dates
            materialise(DRIVERS, key, RUN, lake=lake, clock=CLOCK)


def test_each_label_sees_the_last_day_that_was_published(landed: LocalStore) -> None:
    """At midnight the snapshot of yesterday is an hour from publication, so the midnight ride sees the day before."""
    snapshots(landed, DAYS[0], DAYS[1], DAYS[2])

    rows = join_day(TIPPED, DAYS[3], lake=landed).rows.to_pylist()

    seen = [(row["label_time"], str(row["drivers__day"]), row["tip_sum_1d"], row["tip_sum_2d"]) for row in rows]
    assert seen == [
        (datetime(2024, 1, 4, 0, tzinfo=UTC), "2024-01-02", 2, 3),
        (datetime(2024, 1, 4, 9, tzinfo=UTC), "2024-01-03", 3, 5),
    ]


def test_what_is_missing_is_known_before_anything_is_joined(landed: LocalStore) -> None:
    """The run waits for these and for no others."""
    snapshots(landed, DAYS[1])

    missing = snapshots_needed(TIPPED, DRIVERS, DAYS[3], lake=landed).missing

    assert [str(key) for key in missing] == ["2024-01-03.preliminary.20240104T000000Z"]


def test_without_a_needed_snapshot_nothing_older_is_taken(landed: LocalStore) -> None:
    """It would be silently wrong; so it is an error."""
    snapshots(landed, DAYS[0], DAYS[1])

    with pytest.raises(NotPublished, match=r"no partition 2024-01-03\.preliminary"):
        join_day(TIPPED, DAYS[3], lake=landed)


def test_the_first_day_has_nothing_to_see_and_waits_for_nothing(landed: LocalStore) -> None:
    """Days before the declared start are absent: null features with their reason."""
    assert snapshots_needed(TIPPED, DRIVERS, DAYS[0], lake=landed).missing == ()

    rows = join_day(TIPPED, DAYS[0], lake=landed).rows

    assert rows.column("rides_1d").to_pylist() == [None, None]
    assert set(rows.column("drivers__reason").to_pylist()) == {"not_yet_arrived"}


def test_a_candidate_is_stored_and_not_released(landed: LocalStore) -> None:
    """Its manifest names inputs, split and reasons, and what was observed of its rows."""
    snapshots(landed, DAYS[0], DAYS[1], DAYS[2])

    manifest = build_candidate(TIPPED, DAYS[3], RUN, lake=landed, observe=lambda rows: {"seen": rows.num_rows})

    assert latest(landed, "tipped") is None
    assert read_partition(landed, manifest).num_rows == manifest.counts.samples == manifest.facts["seen"] == 2
    assert manifest.facts["training"]["split"]["holdout"] == 2
    assert {entry["dataset"] for entry in manifest.facts["inputs"]} == {"rides", "drivers"}


def test_the_same_inputs_give_the_same_candidate(landed: LocalStore) -> None:
    """Also when later days have been published meanwhile."""
    snapshots(landed, DAYS[0], DAYS[1])
    first = build_candidate(TIPPED, DAYS[2], RUN, lake=landed, observe=lambda _: {})
    snapshots(landed, DAYS[2], DAYS[3])

    assert build_candidate(TIPPED, DAYS[2], RUN, lake=landed, observe=lambda _: {}) == first
