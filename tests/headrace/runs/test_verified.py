"""What a night or a person saw, written down."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.release import Release
from headrace.runs.night import Verified
from headrace.runs.verified import Look, by_hand, damaged_looks, keep_looks, looks_after, read_looks
from headrace.shards.verify import Finding

FIRST, SECOND = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC)
AT_FIRST, AT_SECOND = "2026-02-01T00:00:00.000000Z", "2026-02-02T00:00:00.000000Z"
CUT = Finding(partition="2013-01-02", subject="shard x", found="3 bytes", expected="4 bytes", remedy="Restore it.")


def night(*partitions: str, findings: tuple[Finding, ...] = (), **release: str) -> Verified:
    named = {f"2013-01-0{day[1:]}": digest for day, digest in release.items()}
    return Verified(partitions=(*partitions, "release"), release=named, findings=findings)


def test_each_night_adds_what_it_read_and_forgets_what_is_gone() -> None:
    """The second night reads day 2, which is damaged; day 1 keeps its look; day 3 left the release."""
    first = looks_after({}, night("2013-01-01", "2013-01-03", d1="a", d2="b", d3="c"), FIRST)
    second = looks_after(first, night("2013-01-02", findings=(CUT,), d1="a", d2="b"), SECOND)

    assert list(first) == ["2013-01-01", "2013-01-03"]
    assert second == {
        "2013-01-01": Look(manifest="a", at=AT_FIRST),
        "2013-01-02": Look(manifest="b", at=AT_SECOND, wrong="shard x: found 3 bytes; expected 4 bytes."),
    }


def test_a_release_that_cannot_be_read_leaves_what_is_known() -> None:
    """Nothing below it was looked at."""
    known = {"2013-01-01": Look(manifest="a", at=AT_FIRST)}

    assert looks_after(known, Verified(partitions=("release",)), SECOND) == known


def test_nights_are_kept_in_the_lake(lake: LocalStore) -> None:
    """Nothing at first; then what two nights saw; a damaged record is begun anew."""
    assert read_looks(lake, "d") == {}

    keep_looks(lake, "d", night("2013-01-01", d1="a", d2="b"), FIRST)
    keep_looks(lake, "d", night("2013-01-02", d1="a", d2="b"), SECOND)
    assert {name: look.at for name, look in read_looks(lake, "d").items()} == {"2013-01-01": AT_FIRST, "2013-01-02": AT_SECOND}

    key = layout.verified("d")
    lake.swap(key, lake.get(key).data.replace(b"2026-02-01", b"2026-02-09"), expected=lake.get(key).etag)
    assert read_looks(lake, "d") == {}
    keep_looks(lake, "d", night("2013-01-01", d1="a", d2="b"), SECOND)
    assert list(read_looks(lake, "d")) == ["2013-01-01"]


def test_a_night_without_a_release_writes_nothing(lake: LocalStore) -> None:
    """A dataset that was never published has no record."""
    keep_looks(lake, "d", Verified(partitions=()), FIRST)

    assert lake.head(layout.verified("d")) is None


def test_an_older_release_says_only_what_the_one_in_use_shares_with_it() -> None:
    """Day 1 is the same manifest in both, day 2 was written again since, day 3 is gone: only day 1 was looked at."""
    old = Release(dataset="d", number=1, parent=None, partitions={"2013-01-01": "a", "2013-01-02": "b", "2013-01-03": "c"})
    now = Release(dataset="d", number=2, parent=1, partitions={"2013-01-01": "a", "2013-01-02": "B"})

    found = by_hand(old, list(old.partitions), [CUT], in_use=now)

    assert (found.partitions, found.release, found.findings) == (("2013-01-01",), now.partitions, ())
    assert by_hand(now, ["2013-01-02"], [CUT], in_use=now).findings == (CUT,)


def test_what_was_damaged_at_the_last_look_is_named() -> None:
    """In order; what is right is not."""
    looks = {day: Look(manifest="a", at=AT_FIRST, wrong=wrong) for day, wrong in (("b", "Cut."), ("c", None), ("a", "Gone."))}

    assert damaged_looks(looks) == ["a", "b"]
