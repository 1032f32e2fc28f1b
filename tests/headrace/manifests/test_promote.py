"""Publication: one winner, nobody's partition lost, no half release at any instant."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from headrace.lake.errors import PointerMoved, StoreUnavailable
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, publish, write_candidate
from headrace.manifests.read import latest, published, read_manifest
from headrace.manifests.release import Note
from headrace.spec.canonical import digest_of
from hypothesis import given, settings
from hypothesis import strategies as st

RUN = {"dag": "test"}
A, B = "a" * 64, "b" * 64


def test_the_first_release_is_number_one(lake: LocalStore) -> None:
    """It has no parent and holds what was promoted."""
    release = promote(lake, "d", {"2013-01-01": A}, RUN)

    assert (release.number, release.parent, release.partitions) == (1, None, {"2013-01-01": A})
    assert published(lake, "d") == release


def test_publishing_what_is_there_makes_no_release(lake: LocalStore) -> None:
    """The same manifest again is the same release."""
    first = promote(lake, "d", {"2013-01-01": A}, RUN)

    assert promote(lake, "d", {"2013-01-01": A}, {"dag": "other run"}) == first


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(["2013-01-01", "2013-01-02", "2013-01-03", "2013-01-04"]))
def test_the_digest_does_not_depend_on_the_order_of_runs(tmp_path_factory: pytest.TempPathFactory, order: list[str]) -> None:
    """Any order of days ends in the release with this digest."""
    lake = LocalStore(tmp_path_factory.mktemp("lake"))
    for day in order:
        release = promote(lake, "d", {day: day.replace("-", "") * 8}, RUN)

    in_key_order = [{"partition": day, "manifest": day.replace("-", "") * 8} for day in sorted(order)]
    assert release.number == 4
    assert release.digest == digest_of({"dataset": "d", "partitions": in_key_order})


@pytest.mark.parametrize("attempt", range(5))
def test_racing_publications_lose_no_partition(lake: LocalStore, attempt: int) -> None:
    """Eight writers, eight days: eight releases, the last holds all days."""
    days = [f"2013-01-0{n}" for n in range(1, 9)]
    with ThreadPoolExecutor(8) as pool:
        numbers = sorted(pool.map(lambda day: promote(lake, "d", {day: A}, RUN).number, days))

    assert numbers == list(range(1, 9))
    assert sorted(published(lake, "d").partitions) == days


class Dying(LocalStore):
    """Stops answering at the n-th write, before or after the write is done, as a killed writer would."""

    def __init__(self, root: Path, dies_at: int, *, after: bool) -> None:
        super().__init__(root)
        self.left, self.after = dies_at, after

    def _step(self) -> bool:
        self.left -= 1
        return self.left == 0

    def put_new(self, key: str, data: bytes) -> str:
        return self._maybe_die(lambda: super(Dying, self).put_new(key, data))

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        return self._maybe_die(lambda: super(Dying, self).swap(key, data, expected=expected))

    def _maybe_die(self, write: object) -> str:
        if not self._step():
            return write()  # type: ignore[operator]
        if self.after:
            write()  # type: ignore[operator]
        raise StoreUnavailable("store", found="killed", expected="an answer", remedy="Try again.")


@pytest.mark.parametrize(("dies_at", "after"), list(itertools.product([1, 2], [False, True])))
def test_killed_at_any_write_the_old_release_stays_and_the_next_run_completes(tmp_path: Path, dies_at: int, after: bool) -> None:
    """Whatever was half done, the reader sees a whole release, and both days are in the end."""
    good = LocalStore(tmp_path)
    promote(good, "d", {"2013-01-01": A}, RUN)
    dying = Dying(tmp_path, dies_at, after=after)
    with pytest.raises(StoreUnavailable):
        promote(dying, "d", {"2013-01-02": A}, RUN)

    seen = published(good, "d")
    assert seen.partitions in ({"2013-01-01": A}, {"2013-01-01": A, "2013-01-02": A})
    promote(good, "d", {"2013-01-03": B}, RUN)
    release = promote(good, "d", {"2013-01-02": A}, RUN)
    assert release.partitions == {"2013-01-01": A, "2013-01-02": A, "2013-01-03": B}


def test_a_release_left_above_the_pointer_is_put_in_use(tmp_path: Path) -> None:
    """A writer that died before moving the pointer is helped by the next one, and both partitions are in."""
    lake = LocalStore(tmp_path)
    promote(lake, "d", {"2013-01-01": A}, RUN)

    class NoSwap(LocalStore):
        def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
            raise StoreUnavailable("store", found="killed", expected="an answer", remedy="Try again.")

    with pytest.raises(StoreUnavailable):
        promote(NoSwap(tmp_path), "d", {"2013-01-02": A}, RUN)
    assert published(lake, "d").number == 1

    release = promote(lake, "d", {"2013-01-03": A}, RUN)

    assert (release.number, sorted(release.partitions)) == (3, ["2013-01-01", "2013-01-02", "2013-01-03"])


def test_a_change_that_raises_leaves_everything(lake: LocalStore) -> None:
    """No release, no pointer moved."""
    before = promote(lake, "d", {"2013-01-01": A}, RUN)

    def refuse(partitions: dict[str, str]) -> dict[str, str]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        publish(lake, "d", refuse, RUN)
    assert published(lake, "d") == before


def test_notes_stay_as_long_as_their_manifest(lake: LocalStore) -> None:
    """A warning goes with the manifest it was about."""
    note = Note(partition="2013-01-01", manifest=A, kind="warning", text="drift")
    promote(lake, "d", {"2013-01-01": A}, RUN, (note,))

    assert promote(lake, "d", {"2013-01-02": A}, RUN).notes == (note,)
    assert promote(lake, "d", {"2013-01-01": B}, RUN).notes == ()


def test_the_same_content_by_two_runs_is_one_manifest(lake: LocalStore) -> None:
    """The run part is not content: the first writer's stays."""
    manifest = Manifest(
        dataset="d", partition="2013-01-01", shards=(), index=(), schema=(),
        counts=Counts(listed=0, read=0, skipped={}, quarantined={}, samples=0),
        inventory_digest=A, declaration_digest=B,
    )  # fmt: skip

    digests = {write_candidate(lake, manifest, {"run_id": name}) for name in ("first", "second")}

    assert digests == {manifest.digest}
    assert read_manifest(lake, "d", "2013-01-01", manifest.digest) == manifest


def test_lost_pointer_answers_are_not_lost_publications(tmp_path: Path) -> None:
    """The swap was done, its answer lost and repeated by the client: the refusal is recognised as our own success."""

    class LosesAnswer(LocalStore):
        def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
            super().swap(key, data, expected=expected)
            raise PointerMoved("p", found="412", expected="", remedy="")

    release = promote(LosesAnswer(tmp_path), "d", {"2013-01-01": A}, RUN)

    assert release.number == 1
    assert latest(LocalStore(tmp_path), "d") is not None
