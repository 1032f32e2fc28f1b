"""The shard cache: nothing wrong gets through it, and nothing it is left with stops the next start."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.errors import HeadraceError
from headrace.lake.local import LocalStore
from headrace.loader import LoaderOptions, open_loader
from headrace.loader import cache as module
from headrace.loader.cache import CacheCounts, ShardCache
from headrace.loader.errors import CacheRefused
from headrace.loader.fetch import verified_bytes
from headrace.loader.files import being_written, one_at_a_time, sweep
from headrace.loader.release import IDENTITY, Shard, pin
from headrace.loader.seal import CLOCK_TICK_SECONDS

from tests.headrace.loader.releases import numbers, release

COLUMNS = (*IDENTITY, "n", "text")


@pytest.fixture
def shards(lake: LocalStore, tmp_path: Path) -> tuple[Shard, ...]:
    release(lake, [40, 3000])
    return pin(lake, "numbers", "LATEST", tmp_path / "pinned").shards


def cache(tmp_path: Path, counts: CacheCounts | None = None, *, max_bytes: int = 10**9, seconds: float = 600) -> ShardCache:
    counts = CacheCounts() if counts is None else counts
    return ShardCache(tmp_path / "cache", max_bytes=max_bytes, reverify_seconds=seconds, counts=counts)


def cached_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "shards").glob("*/*.arrow"))


def flip(path: Path, rng: random.Random) -> None:
    """Change one bit in place, through the file system, and leave the length."""
    with path.open("r+b") as file:
        at = rng.randrange(path.stat().st_size)
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))


def test_a_shard_is_fetched_once(lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path) -> None:
    """The second opening, by another cache object as by another process, reads the disk."""
    first, second = CacheCounts(), CacheCounts()

    rows = [cache(tmp_path, counts).open(lake, shards[1], COLUMNS) for counts in (first, second)]

    assert rows[0].equals(rows[1])
    assert rows[0].column("n").to_pylist() == list(range(40, 3040))
    assert (first.misses, first.hits, first.bytes_fetched) == (1, 0, shards[1].size_bytes)
    assert (second.misses, second.hits, second.bytes_fetched) == (0, 1, 0)


@pytest.mark.parametrize("small_bytes", [0, 4 * 1024 * 1024])
def test_every_flipped_bit_in_the_cache_is_caught_and_mended(
    lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_bytes: int
) -> None:
    """250 flips in mapped files and 250 in read ones: each found, fetched once more, never seen by the reader."""
    monkeypatch.setattr("headrace.loader.cache.SMALL_BYTES", small_bytes)
    good = pa.Table.from_pylist(cache(tmp_path).open(lake, shards[0], COLUMNS).to_pylist())
    [path] = cached_files(tmp_path)
    rng = random.Random(1)

    for _ in range(250):
        flip(path, rng)
        counts = CacheCounts()
        assert cache(tmp_path, counts).open(lake, shards[0], COLUMNS).equals(good)
        assert (counts.refetched, counts.misses) == (1, 1)


def test_every_flipped_bit_in_a_shard_is_caught(lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path) -> None:
    """500 flips in the lake: each fails by name, with the samples it holds; none is decoded."""
    shard = shards[0]
    path = tmp_path / "lake" / shard.key
    good, rng = path.read_bytes(), random.Random(2)

    for _ in range(500):
        flip(path, rng)
        with pytest.raises(HeadraceError) as caught:
            verified_bytes(lake, shard)
        assert shard.sha256 in caught.value.subject
        assert shard.first_sample_id in caught.value.subject
        path.write_bytes(good)
    assert verified_bytes(lake, shard) == good


@pytest.mark.parametrize("length", [0, 1, 1000])
def test_a_cut_cache_file_is_mended(lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path, length: int) -> None:
    """Also one of no bytes, which cannot even be mapped."""
    good = cache(tmp_path).open(lake, shards[0], COLUMNS)
    os.truncate(cached_files(tmp_path)[0], length)

    assert cache(tmp_path).open(lake, shards[0], COLUMNS).equals(good)


def test_an_intact_file_is_not_hashed_again_for_a_while(
    lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seal saves the hash, from the writing on; broken by a change of times, put in the tick of the last change, past its time, or
    damaged, it saves nothing.
    """
    monkeypatch.setattr("headrace.loader.cache.SMALL_BYTES", 0)
    cache(tmp_path).open(lake, shards[0], COLUMNS)
    seen: list[bool] = []
    real = module.is_sealed
    monkeypatch.setattr(module, "is_sealed", lambda *args, **kwargs: seen.append(real(*args, **kwargs)) or seen[-1])

    cache(tmp_path).open(lake, shards[0], COLUMNS)
    os.utime(cached_files(tmp_path)[0])
    with monkeypatch.context() as slow_clock:
        slow_clock.setattr("headrace.loader.seal.CLOCK_TICK_SECONDS", 3600)
        cache(tmp_path).open(lake, shards[0], COLUMNS)
        cache(tmp_path).open(lake, shards[0], COLUMNS)
    assert seen == [True, False, False]

    time.sleep(2 * CLOCK_TICK_SECONDS)
    cache(tmp_path).open(lake, shards[0], COLUMNS)  # hashed once more, unless the last seal was settled already
    del seen[:]
    cache(tmp_path).open(lake, shards[0], COLUMNS)
    cache(tmp_path, seconds=0).open(lake, shards[0], COLUMNS)
    cached_files(tmp_path)[0].with_suffix(".seal").write_bytes(b"\xff")
    cache(tmp_path).open(lake, shards[0], COLUMNS)
    assert seen == [True, False, False]


def test_a_file_written_to_right_after_it_was_made_is_hashed(
    lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its seal was put a moment later, so that a write within the clock's tick cannot hide behind the same times."""
    monkeypatch.setattr("headrace.loader.cache.SMALL_BYTES", 0)
    good = cache(tmp_path).open(lake, shards[0], COLUMNS).to_pylist()
    counts = CacheCounts()
    flip(cached_files(tmp_path)[0], random.Random(4))

    assert cache(tmp_path, counts).open(lake, shards[0], COLUMNS).to_pylist() == good
    assert counts.refetched == 1


def test_the_least_recently_used_shards_leave(lake: LocalStore, tmp_path: Path) -> None:
    """The folder stays within its bound, and what is in use stays readable."""
    release(lake, [200] * 8)
    shards = pin(lake, "numbers", "LATEST", tmp_path / "pinned").shards
    one = cache(tmp_path).open(lake, shards[0], COLUMNS).nbytes
    bounded = cache(tmp_path, max_bytes=4 * one)

    held = [bounded.open(lake, shard, COLUMNS) for shard in shards]

    assert sum(path.stat().st_size for path in cached_files(tmp_path)) <= 4 * one
    assert {path.parent.name for path in cached_files(tmp_path)} <= {shard.sha256 for shard in shards[4:]}
    assert [rows.column("n")[0].as_py() for rows in held] == [200 * n for n in range(8)]


def test_columns_are_cached_apart(lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path) -> None:
    """Two readers with other columns share no file."""
    wide, narrow = (cache(tmp_path).open(lake, shards[0], columns) for columns in (COLUMNS, (*IDENTITY, "n")))

    assert (wide.num_columns, narrow.num_columns, len(cached_files(tmp_path))) == (4, 3, 2)


def test_many_readers_on_an_empty_cache_fetch_once(lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path) -> None:
    """They wait for one fetch; none reads half a file (C.2 18)."""
    counts = CacheCounts()
    with ThreadPoolExecutor(16) as pool:
        rows = list(pool.map(lambda _: cache(tmp_path, counts).open(lake, shards[1], COLUMNS), range(16)))

    assert all(batch.equals(rows[0]) for batch in rows)
    assert (counts.misses, counts.hits) == (1, 15)


def test_a_lock_whose_holder_was_killed_or_forgot_it_stops_nobody(tmp_path: Path) -> None:
    """The lock saves work done twice; it is no condition for going on."""
    with one_at_a_time(tmp_path / "lock", patience_seconds=1) as first:
        started = time.monotonic()
        with one_at_a_time(tmp_path / "lock", patience_seconds=0.2) as second:
            assert (first, second) == (True, False)
        assert time.monotonic() - started < 5


def test_a_forked_child_does_not_keep_its_parents_locks(tmp_path: Path) -> None:
    """A child forked while a thread fetches inherits the open lock file, and lets go of it (C.3 44)."""
    with one_at_a_time(tmp_path / "lock", patience_seconds=1):
        child = os.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
    try:
        with one_at_a_time(tmp_path / "lock", patience_seconds=5) as mine:
            assert mine
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_remains_of_killed_writers_are_swept_and_living_ones_kept(tmp_path: Path) -> None:
    """A file is stale when nobody holds its lock, whatever its age says."""
    (tmp_path / "stale.tmp").write_bytes(b"half")
    with being_written(tmp_path) as (path, _):
        old = time.time() - 3600
        for one in (path, tmp_path / "stale.tmp"):
            os.utime(one, (old, old))
        assert sweep(tmp_path) == 1
        assert path.exists()
    assert list(tmp_path.glob("*.tmp")) == []


def test_a_folder_that_takes_no_files_is_named(lake: LocalStore, shards: tuple[Shard, ...], tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "cache").write_text("in the way")

    with pytest.raises(CacheRefused, match=r"cache folder .*cache"):
        cache(tmp_path).open(lake, shards[0], COLUMNS)


KILLED_READER = """
import sys
from pathlib import Path
from headrace.loader import LoaderOptions, open_loader
options = LoaderOptions(batch_size=7, window_bytes=200_000, cache_folder=Path(sys.argv[2]), prefetch_bytes=200_000)
for epoch in range(1000):
    for number, batch in enumerate(open_loader(sys.argv[1], "numbers", options=options)):
        print(number, flush=True)
"""


def test_a_killed_reader_does_not_stop_the_next(lake: LocalStore, tmp_path: Path) -> None:
    """kill -9 at twelve moments from the first fetch on; the next reader starts at once and reads all (C.1 12)."""
    release(lake, [400] * 12)
    options = LoaderOptions(batch_size=64, window_bytes=200_000, cache_folder=tmp_path / "cache")
    rng = random.Random(3)

    for attempt in range(12):
        command = [sys.executable, "-c", KILLED_READER, lake.uri, str(tmp_path / "cache")]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as reader:
            if attempt % 2 == 0:
                assert reader.stdout is not None
                reader.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.25 if attempt % 2 == 0 else 1.2))
            reader.kill()

    started = time.monotonic()
    assert sorted(numbers(open_loader(lake.uri, "numbers", options=options))) == list(range(4800))
    assert time.monotonic() - started < 20
