"""The summary says what a reader of the lake gets."""

from __future__ import annotations

from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate

from local.environment import DECLARATIONS
from local.summary import Day, summarise


def publish(lake: LocalStore, dataset: str, partition: str, *, listed: int, quarantined: int, samples: int) -> None:
    """Promote a manifest without shards."""
    manifest = Manifest(
        dataset=dataset,
        partition=partition,
        shards=(),
        index=(),
        schema=(),
        counts=Counts(
            listed=listed,
            read=listed - quarantined,
            skipped={},
            quarantined={"not_csv": quarantined} if quarantined else {},
            samples=samples,
        ),
        inventory_digest="0" * 64,
        declaration_digest="0" * 64,
    )
    write_candidate(lake, manifest, {})
    promote(lake, dataset, {partition: manifest.digest}, {})


def test_an_empty_lake_has_rows_of_zeros_and_is_sound(lake: LocalStore) -> None:
    """Nothing published is nothing shown, and no error."""
    made = summarise(lake.uri, DECLARATIONS, ["2013-01-01"])

    assert made.days[0] == Day(
        day="2013-01-01",
        objects=0,
        shards=0,
        samples=0,
        quarantined=0,
        snapshot_rows=0,
        training_rows=0,
        checks_passed=0,
        checks=0,
    )
    assert (made.releases, made.is_sound) == ((), True)


def test_a_day_adds_up_over_its_datasets_and_all_versions_of_its_snapshots(lake: LocalStore) -> None:
    """Both versions of a snapshot count; other days are left out."""
    publish(lake, "flights", "2013-01-01", listed=55, quarantined=2, samples=0)
    publish(lake, "flights", "2013-01-02", listed=9, quarantined=0, samples=0)
    publish(lake, "carrier_delays", "2013-01-01.preliminary.20130102T050000Z", listed=1, quarantined=0, samples=14)
    publish(lake, "carrier_delays", "2013-01-01.settled.20130104T050000Z", listed=1, quarantined=0, samples=15)

    day = summarise(lake.uri, DECLARATIONS, ["2013-01-01"]).days[0]

    assert (day.objects, day.quarantined, day.snapshot_rows) == (55, 2, 29)


def test_samples_that_stand_in_no_index_are_lost(lake: LocalStore) -> None:
    """The summary is a check, and its word decides the exit code."""
    publish(lake, "flights", "2013-01-01", listed=55, quarantined=0, samples=842)

    made = summarise(lake.uri, DECLARATIONS, ["2013-01-01"])

    assert (made.releases[0].lost, made.is_sound) == (842, False)
