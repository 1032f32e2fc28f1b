"""Days become a month: same samples, same order, full shards."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.manifests.read import manifest_of, published
from headrace.shards.index import locate
from headrace.shards.rollup import RollupRefused, days_of, lacking_days, roll_up
from headrace.shards.table import read_partition
from headrace.shards.verify import verify_partition

from tests.headrace.shards.lake_building import csv_dataset, identity, land, raw_dataset, run

DAYS = ("2013-01-01", "2013-01-02", "2013-01-31")


@pytest.fixture
def days(landing: LocalStore, lake: LocalStore) -> pa.Table:
    """Three days of a month and one of the next; the month's rows in order."""
    for number, day in enumerate((*DAYS, "2013-02-01")):
        land(landing, {f"{n}.bin": bytes([number]) * 50_000 for n in range(8)}, day)
        run(raw_dataset(), landing, lake, day)
    release = published(lake, "d")
    return pa.concat_tables([read_partition(lake, manifest_of(lake, release, day)) for day in DAYS])


def test_a_month_has_the_days_samples_in_their_order(lake: LocalStore, days: pa.Table) -> None:
    """With their IDs, in one shard instead of three, and the days stay."""
    manifest, release = roll_up(lake, "d", "2013-01", identity(), shard_bytes=2_000_000, row_group_bytes=200_000)

    assert read_partition(lake, manifest).equals(days)
    assert (manifest.dataset, manifest.partition, len(manifest.shards)) == ("d_monthly", "2013-01", 1)
    assert manifest.counts.listed == manifest.counts.read == manifest.counts.samples == 24
    assert release.partitions == {"2013-01": manifest.digest}
    assert len(published(lake, "d").partitions) == 4
    assert list(verify_partition(lake, manifest)) == []
    where = locate(lake, manifest, days["sample_id"][20].as_py())
    assert where is not None
    assert where.row == 20


def test_payloads_stay_as_they_were_written(lake: LocalStore, days: pa.Table) -> None:
    """Media is not packed on the way."""
    manifest, _ = roll_up(lake, "d", "2013-01", identity(), shard_bytes=2_000_000, row_group_bytes=200_000)

    assert manifest.size_bytes > 24 * 50_000


@pytest.mark.parametrize("room", ["shards", "index"])
def test_a_month_that_lost_something_is_written_again(lake: LocalStore, days: pa.Table, room: str) -> None:
    """Though no day changed: the same bytes, no new release."""
    first = roll_up(lake, "d", "2013-01", identity())
    victim = next(lake.list(f"d_monthly/{room}/"))
    lake.delete(victim.key)

    assert roll_up(lake, "d", "2013-01", identity()) == first
    assert list(verify_partition(lake, first[0])) == []


def test_rolling_up_again_changes_nothing_until_a_day_changes(lake: LocalStore, landing: LocalStore, days: pa.Table) -> None:
    """Pure, and made again on change."""
    first = roll_up(lake, "d", "2013-01", identity())
    assert roll_up(lake, "d", "2013-01", identity()) == first
    land(landing, {"9.bin": b"late"}, "2013-01-02")
    run(raw_dataset(), landing, lake, "2013-01-02")

    manifest, release = roll_up(lake, "d", "2013-01", identity())

    assert (manifest.counts.samples, release.number) == (25, 2)
    assert b"late" in read_partition(lake, manifest)["payload"].to_pylist()


def test_another_lake_gets_the_same_month(landing: LocalStore, lake: LocalStore, days: pa.Table, tmp_path: Path) -> None:
    """Whatever the order of the days."""
    other = LocalStore(tmp_path / "other")
    for day in reversed(DAYS):
        run(raw_dataset(), landing, other, day)

    assert roll_up(other, "d", "2013-01", identity())[0] == roll_up(lake, "d", "2013-01", identity())[0]


def test_a_month_without_days_is_refused(lake: LocalStore, days: pa.Table) -> None:
    """And so is what is no month."""
    with pytest.raises(NotPublished, match="no day of 2013-03"):
        roll_up(lake, "d", "2013-03", identity())
    with pytest.raises(RollupRefused, match="YYYY-MM"):
        roll_up(lake, "d", "2013", identity())


def test_days_with_different_columns_are_refused(lake: LocalStore, landing: LocalStore, days: pa.Table) -> None:
    """A declaration that changed inside the month: which day, and both."""
    land(landing, {"a.csv": b"n,name\n1,x\n"}, "2013-01-03")
    run(csv_dataset(), landing, lake, "2013-01-03")

    with pytest.raises(RollupRefused, match="2013-01-03"):
        roll_up(lake, "d", "2013-01", identity())


@pytest.mark.parametrize(
    ("month", "first", "last", "days"),
    [
        ("2013-02", date(2012, 1, 1), None, ("2013-02-01", "2013-02-28", 28)),
        ("2012-02", date(2012, 1, 1), None, ("2012-02-01", "2012-02-29", 29)),
        ("2013-12", date(2013, 12, 20), None, ("2013-12-20", "2013-12-31", 12)),
        ("2013-01", date(2012, 1, 1), date(2013, 1, 3), ("2013-01-01", "2013-01-03", 3)),
    ],
)
def test_a_month_has_the_days_its_dataset_has(month: str, first: date, last: date | None, days: tuple[str, str, int]) -> None:
    """Those before its start and after its end are not waited for."""
    found = days_of(month, first=first, last=last)

    assert (found[0], found[-1], len(found)) == days


def test_the_days_a_month_lacks_are_named(lake: LocalStore, days: pa.Table) -> None:
    """Whatever is published of other months; of a dataset nobody published, all."""
    assert lacking_days(lake, "d", "2013-01", first=date(2013, 1, 1), last=date(2013, 1, 3)) == ["2013-01-03"]
    assert lacking_days(lake, "d", "2013-01", first=date(2013, 1, 31), last=None) == []
    assert lacking_days(lake, "other", "2013-01", first=date(2013, 1, 30), last=None) == ["2013-01-30", "2013-01-31"]
    with pytest.raises(RollupRefused, match="2013-13"):
        lacking_days(lake, "d", "2013-13", first=date(2013, 1, 1), last=None)
