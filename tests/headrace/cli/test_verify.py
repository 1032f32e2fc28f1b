"""`headrace verify` leaves a record of what it read, for the pages and the next night."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from headrace.cli.verify import verify
from headrace.lake import layout
from headrace.lake.errors import AccessRefused, StoreUnavailable
from headrace.lake.local import LocalStore
from headrace.manifests.read import manifest_of, published
from headrace.runs.night import verify_tonight
from headrace.runs.verified import keep_looks, read_looks
from headrace.spec.canonical import instant_text

from tests.headrace.cli.test_cli import headrace
from tests.headrace.shards.lake_building import csv_dataset, land, run

DAYS = ("2013-01-01", "2013-01-02")


@pytest.fixture
def house(landing: LocalStore, lake: LocalStore) -> str:
    """Two days in two releases."""
    for number, day in enumerate(DAYS):
        land(landing, {"a.csv": f"n,name\n{number},x\n".encode()}, day)
        run(csv_dataset(), landing, lake, day)
    return lake.uri


def cut(lake: LocalStore, day: str) -> str:
    """The day's shard loses its bytes; its digest."""
    digest = manifest_of(lake, published(lake, "d"), day).shards[0].sha256
    lake.delete(layout.shard("d", digest))
    lake.put_new(layout.shard("d", digest), b"junk")
    return digest


def test_what_was_read_is_written_down_as_the_night_does_it(house: str, lake: LocalStore) -> None:
    """One partition, with the manifest it was read under and the time; then the other, damaged, and the first is kept."""
    began = instant_text(datetime.now(UTC))
    assert headrace("verify", "d", DAYS[0], lake=house).stderr == ""
    first = read_looks(lake, "d")
    digest = cut(lake, DAYS[1])
    told = json.loads(headrace("verify", "d", DAYS[1], "--json", lake=house).stdout)
    both = read_looks(lake, "d")

    release = published(lake, "d").partitions
    assert list(first) == [DAYS[0]]
    assert began <= first[DAYS[0]].at <= instant_text(datetime.now(UTC))
    assert (told["recorded"], len(told["findings"])) == (1, 1)
    assert both[DAYS[0]] == first[DAYS[0]]
    assert {day: look.manifest for day, look in both.items()} == release
    assert digest in str(both[DAYS[1]].wrong)

    keep_looks(lake, "d", verify_tonight(lake, "d", datetime.now(UTC).date(), nights=1), datetime.now(UTC))
    assert {day: (look.manifest, look.wrong) for day, look in read_looks(lake, "d").items()} == {
        day: (look.manifest, look.wrong) for day, look in both.items()
    }


def test_an_older_release_is_written_down_where_it_is_still_in_use(house: str, landing: LocalStore, lake: LocalStore) -> None:
    """The second day was written again: release 2 has its old manifest, which the pages of the one in use do not show."""
    land(landing, {"b.csv": b"n,name\n9,x\n"}, DAYS[1])
    run(csv_dataset(), landing, lake, DAYS[1])

    told = json.loads(headrace("verify", "d", "--release", "2", "--json", lake=house).stdout)

    assert (told["checked"]["partitions"], told["recorded"], told["findings"]) == (2, 1, [])
    assert list(read_looks(lake, "d")) == [DAYS[0]]


@pytest.mark.parametrize("damage", [False, True])
def test_a_lake_that_takes_no_writes_is_verified_all_the_same(house: str, lake: LocalStore, *, damage: bool) -> None:
    """A file where the record's folder should be: the same verdict and status, and one line that says why nothing was written down."""
    if damage:
        cut(lake, DAYS[0])
    lake.put_new("d/verified", b"")

    done = headrace("verify", "d", lake=house)
    told = headrace("verify", "d", "--json", lake=house)

    assert (done.returncode, told.returncode) == (int(damage), int(damage))
    assert done.stdout.endswith("1 broken.\n" if damage else "all as published.\n")
    assert json.loads(told.stdout)["recorded"] == 0
    for one in (done, told):
        assert len(one.stderr.splitlines()) == 1
        assert one.stderr.startswith("headrace: verified, but not written down for the pages: ")


def test_read_only_credentials_are_no_failure(
    house: str, lake: LocalStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store knows us and takes no write: what was verified is told, and that it was not written down."""

    def refused(self: LocalStore, key: str, data: bytes, *, expected: str | None) -> str:
        raise AccessRefused(key, found="AccessDenied", expected="credentials that may do this", remedy="Check them.")

    monkeypatch.setattr(LocalStore, "swap", refused)

    verify("d", lake=house)

    said = capsys.readouterr()
    assert said.out.endswith("all as published.\n")
    assert "AccessDenied" in said.err
    assert read_looks(lake, "d") == {}


@pytest.mark.parametrize("refusal", [StoreUnavailable, AccessRefused])
def test_a_manifest_that_cannot_be_fetched_is_not_damage(
    house: str, lake: LocalStore, refusal: type[StoreUnavailable | AccessRefused], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store's own trouble ends the command and is written down of no partition."""
    get = LocalStore.get

    def refused(self: LocalStore, key: str, **more: Any) -> Any:
        if "/manifests/" in key:
            raise refusal(key, found="no answer", expected="an answer", remedy="Wait.")
        return get(self, key, **more)

    monkeypatch.setattr(LocalStore, "get", refused)

    with pytest.raises(refusal):
        verify("d", lake=house)
    assert read_looks(lake, "d") == {}
