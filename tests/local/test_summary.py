"""The summary says what a reader of the lake gets."""

from __future__ import annotations

import io

from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.spec.load import load_declarations
from rich.console import Console

from local.environment import DECLARATIONS
from local.summary import DayRow, release_lines, summarise, summary_table

DECLARED = load_declarations(DECLARATIONS)


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


def test_an_empty_lake_has_rows_of_zeros(lake: LocalStore) -> None:
    """Nothing published is nothing shown, and no error."""
    made = summarise(lake, DECLARED, ["2013-01-01"])

    assert (made.days, made.releases) == ([DayRow(day="2013-01-01")], [])


def test_a_day_adds_up_over_datasets_versions_and_training_sets(lake: LocalStore) -> None:
    """Both versions of a snapshot count; a training day without a verdict says so; other days are left out."""
    publish(lake, "flights", "2013-01-01", listed=55, quarantined=2, samples=842)
    publish(lake, "flights", "2013-01-02", listed=9, quarantined=0, samples=9)
    publish(lake, "carrier_delays", "2013-01-01.preliminary.20130102T050000Z", listed=1, quarantined=0, samples=14)
    publish(lake, "carrier_delays", "2013-01-01.settled.20130104T050000Z", listed=1, quarantined=0, samples=15)
    publish(lake, "flight_delay", "2013-01-01", listed=2, quarantined=0, samples=831)

    made = summarise(lake, DECLARED, ["2013-01-01"])

    assert made.days == [
        DayRow(
            day="2013-01-01",
            objects=55,
            quarantined=2,
            samples=842,
            snapshot_rows=29,
            training_rows=831,
            checks={"without verdict": 1},
        )
    ]
    assert [line.split(", digest ")[0] for line in release_lines(made)] == [
        "flights         release 2, 2 partitions",
        "carrier_delays  release 2, 2 partitions",
        "flight_delay    release 1, 1 partitions",
    ]


def test_the_table_ends_with_the_sums(lake: LocalStore) -> None:
    """People look at the last row."""
    publish(lake, "flights", "2013-01-01", listed=55, quarantined=0, samples=842)
    publish(lake, "flights", "2013-01-02", listed=55, quarantined=1, samples=943)
    out = io.StringIO()

    Console(file=out, width=140).print(summary_table(summarise(lake, DECLARED, ["2013-01-01", "2013-01-02"])))

    last = out.getvalue().splitlines()[-2]
    assert [cell.strip() for cell in last.split("│")[1:-1]] == ["All", "110", "1", "0", "1,785", "0", "0", ""]
