"""A night over a real lake: what is damaged is named, and nothing else suffers."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from headrace.lake import layout
from headrace.lake.errors import AccessRefused, StoreUnavailable
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published
from headrace.runs.night import verify_tonight

from tests.headrace.shards.lake_building import land, raw_dataset
from tests.headrace.shards.lake_building import run as compact

NIGHT = date(2026, 2, 1)
DAYS = ("2013-01-01", "2013-01-02", "2013-01-03")


@pytest.fixture
def manifests(landing: LocalStore, lake: LocalStore) -> dict[str, Manifest]:
    """Three days in one release."""
    for day in DAYS:
        land(landing, {f"{n}.bin": f"{day} {n}".encode() * 50 for n in range(4)}, day)
        compact(raw_dataset(), landing, lake, day)
    release = published(lake, "d")
    return {day: manifest_of(lake, release, day) for day in DAYS}


def flip(lake: LocalStore, key: str) -> None:
    """One bit in the middle of an object, as rot does it."""
    data = bytearray(lake.get(key).data)
    data[len(data) // 2] ^= 1
    lake.delete(key)
    lake.put_new(key, bytes(data))


def test_a_sound_lake_has_no_findings(lake: LocalStore, manifests: dict[str, Manifest]) -> None:
    """In one night everything; over three nights each day once."""
    whole = verify_tonight(lake, "d", NIGHT, nights=1)
    nights = [verify_tonight(lake, "d", date(2026, 2, n), nights=3) for n in (1, 2, 3)]

    assert whole.partitions == (*DAYS, "release")
    assert whole.findings == ()
    assert whole.right == whole.partitions
    assert sorted(name for night in nights for name in night.partitions if name != "release") == list(DAYS)


def test_a_flipped_bit_is_named_and_the_other_days_are_right(lake: LocalStore, manifests: dict[str, Manifest]) -> None:
    """The shard's key, what was found and what was expected."""
    digest = manifests[DAYS[1]].shards[0].sha256
    flip(lake, layout.shard("d", digest))

    found = verify_tonight(lake, "d", NIGHT, nights=1)

    assert list(found.broken) == [DAYS[1]]
    assert digest in found.broken[DAYS[1]]
    assert found.right == (DAYS[0], DAYS[2], "release")


def test_a_damaged_manifest_hides_nothing_behind_it(lake: LocalStore, manifests: dict[str, Manifest]) -> None:
    """The first day's manifest and the last day's shard: both are found."""
    flip(lake, layout.manifest("d", DAYS[0], manifests[DAYS[0]].digest))
    flip(lake, layout.shard("d", manifests[DAYS[2]].shards[0].sha256))

    assert list(verify_tonight(lake, "d", NIGHT, nights=1).broken) == [DAYS[0], DAYS[2]]


def test_a_damaged_pointer_is_a_finding_of_its_own(lake: LocalStore, manifests: dict[str, Manifest]) -> None:
    """Nothing below it can be found, so nothing below it is called right."""
    key = layout.pointer("d")
    etag = lake.get(key).etag
    lake.swap(key, b"{", expected=etag)

    found = verify_tonight(lake, "d", NIGHT, nights=1)

    assert list(found.broken) == ["release"]
    assert found.right == ()


def test_what_was_damaged_is_looked_at_every_night(lake: LocalStore, manifests: dict[str, Manifest]) -> None:
    """Out of turn, until it is right; what the release does not hold any more is gone."""
    quiet = next(
        day for day in range(1, 29) if verify_tonight(lake, "d", date(2026, 2, day), nights=28).partitions == ("release",)
    )
    found = verify_tonight(lake, "d", date(2026, 2, quiet), nights=28, damaged=[DAYS[0], "2012-12-31"])

    assert found.partitions == (DAYS[0], "release")
    assert found.gone == ("2012-12-31",)
    assert found.right == (DAYS[0], "release", "2012-12-31")


def test_a_dataset_without_a_release_has_nothing_to_verify(lake: LocalStore) -> None:
    """No finding, and old damage is gone with it."""
    found = verify_tonight(lake, "d", NIGHT, nights=1, damaged=["2013-01-01"])

    assert (found.partitions, found.right) == ((), ("2013-01-01",))


@pytest.mark.parametrize("refusal", [StoreUnavailable, AccessRefused])
def test_a_lake_that_cannot_be_read_is_not_damage(
    lake: LocalStore,
    manifests: dict[str, Manifest],
    refusal: type[StoreUnavailable | AccessRefused],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every shard unreadable for the moment: an error, no finding."""
    get = LocalStore.get

    def refused(self: LocalStore, key: str, **more: Any) -> Any:
        if "/shards/" in key:
            raise refusal(key, found="no answer", expected="an answer", remedy="Wait.")
        return get(self, key, **more)

    monkeypatch.setattr(LocalStore, "get", refused)

    with pytest.raises(refusal):
        verify_tonight(lake, "d", NIGHT, nights=1)
