"""What a night saw, written down."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.runs.night import Verified
from headrace.runs.verified import Look, after_night, keep_night, read_looks
from headrace.shards.verify import Finding

FIRST, SECOND = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC)
AT_FIRST, AT_SECOND = "2026-02-01T00:00:00.000000Z", "2026-02-02T00:00:00.000000Z"
CUT = Finding(partition="2013-01-02", subject="shard x", found="3 bytes", expected="4 bytes", remedy="Restore it.")


def night(*partitions: str, findings: tuple[Finding, ...] = (), **release: str) -> Verified:
    named = {f"2013-01-0{day[1:]}": digest for day, digest in release.items()}
    return Verified(partitions=(*partitions, "release"), release=named, findings=findings)


def test_each_night_adds_what_it_read_and_forgets_what_is_gone() -> None:
    """The second night reads day 2, which is damaged; day 1 keeps its look; day 3 left the release."""
    first = after_night({}, night("2013-01-01", "2013-01-03", d1="a", d2="b", d3="c"), FIRST)
    second = after_night(first, night("2013-01-02", findings=(CUT,), d1="a", d2="b"), SECOND)

    assert list(first) == ["2013-01-01", "2013-01-03"]
    assert second == {
        "2013-01-01": Look(manifest="a", at=AT_FIRST),
        "2013-01-02": Look(manifest="b", at=AT_SECOND, wrong="shard x: found 3 bytes; expected 4 bytes."),
    }


def test_a_release_that_cannot_be_read_leaves_what_is_known() -> None:
    """Nothing below it was looked at."""
    known = {"2013-01-01": Look(manifest="a", at=AT_FIRST)}

    assert after_night(known, Verified(partitions=("release",)), SECOND) == known


def test_nights_are_kept_in_the_lake(lake: LocalStore) -> None:
    """Nothing at first; then what two nights saw; a damaged record is begun anew."""
    assert read_looks(lake, "d") == {}

    keep_night(lake, "d", night("2013-01-01", d1="a", d2="b"), FIRST)
    keep_night(lake, "d", night("2013-01-02", d1="a", d2="b"), SECOND)
    assert {name: look.at for name, look in read_looks(lake, "d").items()} == {"2013-01-01": AT_FIRST, "2013-01-02": AT_SECOND}

    key = layout.verified("d")
    lake.swap(key, lake.get(key).data.replace(b"2026-02-01", b"2026-02-09"), expected=lake.get(key).etag)
    assert read_looks(lake, "d") == {}
    keep_night(lake, "d", night("2013-01-01", d1="a", d2="b"), SECOND)
    assert list(read_looks(lake, "d")) == ["2013-01-01"]


def test_a_night_without_a_release_writes_nothing(lake: LocalStore) -> None:
    """A dataset that was never published has no record."""
    keep_night(lake, "d", Verified(partitions=()), FIRST)

    assert lake.head(layout.verified("d")) is None
