"""A fault is raised where the training loop is, with its name; an epoch never ends early in silence."""

from __future__ import annotations

import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.lake.errors import StoreUnavailable
from headrace.lake.local import LocalStore
from headrace.lake.store import Fetched, ObjectInfo, Store, View
from headrace.loader import Loader, LoaderOptions, open_loader
from headrace.loader.ahead import Ahead
from headrace.loader.cache import CacheCounts
from headrace.loader.cursor import Cursor
from headrace.loader.errors import EpochIncomplete, ShardUnreadable, StoreBusy
from headrace.loader.order import Positions
from headrace.loader.place import Place
from headrace.loader.read import read
from headrace.loader.release import pin
from headrace.loader.window import Piece, pieces

from tests.headrace.loader.releases import numbers, release

SIZES = [50, 50, 50]


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(batch_size=10, window_bytes=1, cache_folder=tmp_path / "cache", prefetch_bytes=1_000_000)


def damage(lake: LocalStore, tmp_path: Path, day: int) -> str:
    """Flip a byte of one day's shard in the lake; returns its digest."""
    shard = pin(lake, "numbers", "LATEST", tmp_path / "pinned").shards[day]
    path = tmp_path / "lake" / shard.key
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    return shard.sha256


def consume(loader: Loader, seen: list[int]) -> None:
    for batch in loader:
        seen += numbers([batch])


@pytest.mark.parametrize("prefetch_bytes", [0, 1_000_000])
@pytest.mark.parametrize("day", [0, 1, 2])
def test_a_broken_shard_raises_in_the_consumers_thread(
    lake: LocalStore, tmp_path: Path, options: LoaderOptions, prefetch_bytes: int, day: int
) -> None:
    """Wherever it stands in the epoch, the loop ends by an error that names shard, source and IDs (C.1 11, C.2 17)."""
    release(lake, SIZES)
    sha256 = damage(lake, tmp_path, day)
    loader = open_loader(lake.uri, "numbers", options=replace(options, prefetch_bytes=prefetch_bytes))
    seen: list[int] = []

    with pytest.raises(ShardUnreadable) as caught:
        consume(loader, seen)

    assert sha256 in str(caught.value)
    assert lake.uri in str(caught.value)
    assert len(seen) < 150
    assert len(seen) == loader.state_dict()["position"]
    assert pickle.loads(pickle.dumps(caught.value)).subject == caught.value.subject


def test_the_cursor_goes_on_after_the_shard_was_mended(lake: LocalStore, tmp_path: Path, options: LoaderOptions) -> None:
    """What was handed over before the fault is not given again, the rest is given once."""
    release(lake, SIZES)
    expected = numbers(open_loader(lake.uri, "numbers", options=replace(options, cache_folder=tmp_path / "other")))
    good = {path: path.read_bytes() for path in (tmp_path / "lake" / "numbers" / "shards").iterdir()}
    damage(lake, tmp_path, 1)
    loader = open_loader(lake.uri, "numbers", options=options)
    seen: list[int] = []
    with pytest.raises(ShardUnreadable):
        consume(loader, seen)

    for path, data in good.items():
        path.write_bytes(data)

    assert [*seen, *numbers(loader)] == expected


def test_a_missing_shard_is_named(lake: LocalStore, tmp_path: Path, options: LoaderOptions) -> None:
    """Garbage collection or a wrong bucket: no object, which shard, whose samples."""
    release(lake, [5])
    [shard] = (tmp_path / "lake" / "numbers" / "shards").iterdir()
    shard.unlink()

    with pytest.raises(ShardUnreadable, match=rf"{shard.name} \(5 samples of 2024-01-01, .*no object"):
        list(open_loader(lake.uri, "numbers", options=options))


class Flaky(LocalStore):
    """A store that fails so many reads of shards before it answers, or answers with other bytes."""

    failures = 0
    lies = 0

    def get_many(self, wanted: Iterator[ObjectInfo]) -> Iterator[Fetched]:  # type: ignore[override]
        for answer in super().get_many(wanted):
            if type(self).failures > 0:
                type(self).failures -= 1
                error = StoreUnavailable(answer.wanted.key, found="503", expected="the object", remedy="Try again.")
                yield replace(answer, body=error)
            elif type(self).lies > 0 and isinstance(answer.body, View):
                type(self).lies -= 1
                yield replace(answer, body=View(data=bytes(answer.body.data)[:-1] + b"?", etag=answer.body.etag))
            else:
                yield answer


@pytest.fixture
def flaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Store]:
    monkeypatch.setattr("headrace.loader.fetch._PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(Flaky, "failures", 0)
    monkeypatch.setattr(Flaky, "lies", 0)
    return Flaky.from_uri


def test_a_store_that_stutters_is_asked_again(lake: LocalStore, options: LoaderOptions, flaky: Callable[[str], Store]) -> None:
    """Three refusals and one wrong answer change nothing; four refusals are an error another try may heal."""
    release(lake, [20])
    Flaky.failures = 3
    assert len(numbers(open_loader(lake.uri, "numbers", options=options, store=flaky))) == 20

    again = replace(options, columns=("n",), cache_folder=options.cache_folder.with_name("second"))  # type: ignore[union-attr]
    Flaky.lies = 1
    assert len(numbers(open_loader(lake.uri, "numbers", options=again, store=flaky))) == 20

    third = replace(options, cache_folder=options.cache_folder.with_name("third"))  # type: ignore[union-attr]
    Flaky.failures = 4
    with pytest.raises(StoreBusy, match="503"):
        list(open_loader(lake.uri, "numbers", options=third, store=flaky))


def test_a_transfer_that_is_wrong_twice_is_an_error(
    lake: LocalStore, options: LoaderOptions, flaky: Callable[[str], Store]
) -> None:
    """Refetched once, then named: never decoded."""
    release(lake, [20])
    Flaky.lies = 2
    with pytest.raises(ShardUnreadable, match="SHA-256"):
        list(open_loader(lake.uri, "numbers", options=options, store=flaky))


def test_an_epoch_that_comes_up_short_is_an_error(
    lake: LocalStore, options: LoaderOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason: samples are counted against what the epoch must have."""
    release(lake, SIZES)
    loader = open_loader(lake.uri, "numbers", options=options)
    from headrace.loader import read as module

    real = module.batches
    monkeypatch.setattr(module, "batches", lambda *args: list(real(*args))[:-1])

    with pytest.raises(EpochIncomplete, match="found 140 samples from position 0 on; expected 150"):
        list(loader)


def test_a_thread_that_dies_is_no_end() -> None:
    """Not even one that ends without a word."""

    class Dies(Ahead[int]):
        def _run(self) -> None:
            """Ends at once."""

    with pytest.raises(EpochIncomplete):
        next(Dies(iter([1]), lambda _: 1, max_bytes=10))


def test_an_error_arrives_in_its_place_and_stays() -> None:
    """The items before it first, then the error, however often one asks."""

    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("third")

    ahead = Ahead(items(), lambda _: 1, max_bytes=100)

    assert [next(ahead), next(ahead)] == [1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="third"):
            next(ahead)


def test_reading_ahead_is_bounded_in_bytes() -> None:
    """Ten bytes ahead of items of four: two items wait, a third is being offered."""
    made: list[int] = []
    enough = threading.Event()

    def items() -> Iterator[int]:
        for n in range(100):
            made.append(n)
            if n == 2:
                enough.set()
            yield n

    ahead = Ahead(items(), lambda _: 4, max_bytes=10)
    assert enough.wait(10)
    ahead._thread.join(0.2)
    assert len(made) == 3
    assert list(ahead) == list(range(100))


def test_breaking_off_ends_the_threads(lake: LocalStore, options: LoaderOptions) -> None:
    """Nothing reads on after the loop is left."""
    release(lake, SIZES)
    for batch in open_loader(lake.uri, "numbers", options=options):
        assert len(batch) == 10
        break

    assert [thread.name for thread in threading.enumerate() if thread.name == "headrace-ahead"] == []


def test_memory_is_bounded_by_windows_not_by_the_epoch(lake: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 shards, one a window: at no time are more than a few open, however many the epoch has."""
    release(lake, [300] * 30)
    loader = open_loader(
        lake.uri,
        "numbers",
        options=LoaderOptions(batch_size=50, window_bytes=1, prefetch_bytes=20_000, cache_folder=tmp_path / "c"),
    )
    opened: set[int] = set()
    most = 0

    def counted(shard: pa.Table, chosen: Positions | None) -> list[Piece]:
        [piece] = pieces(shard, chosen)
        opened.add(id(piece.rows))
        weakref.finalize(piece.rows, opened.discard, id(piece.rows))
        return [piece]

    monkeypatch.setattr("headrace.loader.source.pieces", counted)
    for batch in read(loader.reading, Cursor(order=0, seed=0, epoch=0, position=0), Place(), CacheCounts()):
        assert len(batch) == 50
        most = max(most, len(opened))
    assert 1 <= most <= 12
