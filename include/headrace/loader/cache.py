"""Shards on this machine's disk, as Arrow files that many processes map at once.

```
<folder>/shards/<shard's SHA-256>/<columns>.<SHA-256 of this file>.arrow
<folder>/shards/<shard's SHA-256>/<columns>.<SHA-256 of this file>.seal     what was verified when (`seal.py`)
<folder>/locks/<2 hex digits>                                             one fetcher per shard and machine
<folder>/manifests/<digest>.json
```

A file's name says what it must hash to, so a damaged one is known by itself: it is removed and fetched once more. Hashing is skipped
while the seal says that this very file was verified, or written, in the last minutes. What is not caught: a disk that alters bytes under
an intact seal, for at most `reverify_seconds`, and memory that alters them later. Files in use may be removed by another process: the
mapping keeps them alive.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, cast

import pyarrow as pa

from headrace.lake.store import Store
from headrace.loader.decode import decoded
from headrace.loader.fetch import unreadable, verified_bytes
from headrace.loader.files import being_written, one_at_a_time, refused, sweep
from headrace.loader.release import Shard
from headrace.loader.seal import CLOCK_TICK_SECONDS, identity, is_sealed, last_use, note_use, seal, seal_of
from headrace.spec.canonical import digest_of

SMALL_BYTES: Final = 4 * 1024 * 1024
"""Files up to this size are read instead of mapped: an open mapping costs a file descriptor."""
_PATIENCE_SECONDS: Final = 120.0
_LAYOUT: Final = 2
_swept: Final[set[tuple[int, Path]]] = set()


@dataclass(kw_only=True)
class CacheCounts:
    """What a cache did for one reader."""

    hits: int = 0
    misses: int = 0
    refetched: int = 0
    bytes_fetched: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)


class ShardCache:
    """A bounded folder of decoded shards. Used from many threads; never crosses a process border itself."""

    def __init__(self, folder: Path, *, max_bytes: int, reverify_seconds: float, counts: CacheCounts) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._reverify_seconds = reverify_seconds
        self._counts = counts
        self._room_lock = threading.Lock()
        self._room_bytes = 0
        _sweep_once(folder)

    def open(self, store: Store, shard: Shard, columns: tuple[str, ...]) -> pa.Table:
        """The shard's rows with `columns`, in parts, verified; fetched unless a good copy is here.

        Raises `ShardUnreadable`, `StoreBusy`, `CacheRefused`.
        """
        home, prefix = self._folder / "shards" / shard.sha256, f"{digest_of([_LAYOUT, list(columns)])[:16]}."
        found = self._opened(home, prefix)
        if found is None:
            with one_at_a_time(self._folder / "locks" / shard.sha256[:2], patience_seconds=_PATIENCE_SECONDS):
                found = self._opened(home, prefix)  # another process may have fetched it meanwhile
                if found is None:
                    return self._fetched(store, shard, columns, home, prefix)
        if found.num_rows != shard.rows:
            raise unreadable(store.uri, shard, f"a cached copy of {found.num_rows} rows in {home}")
        self._counts.add(hits=1)
        return found

    def _opened(self, home: Path, prefix: str) -> pa.Table | None:
        for path in _candidates(home, prefix):
            content = self._verified(path)
            if content is not None:
                return _table(content)
            self._counts.add(refetched=1)
            for damaged in (path, seal_of(path)):
                damaged.unlink(missing_ok=True)
        return None

    def _verified(self, path: Path) -> pa.Buffer | None:
        """The file's bytes if they are the ones its name says, else None; also when it has just been evicted."""
        try:
            with path.open("rb") as file:
                found = identity(file)
                content = _content(file, found["size"])
        except (OSError, ValueError):  # gone, or cut to nothing: an empty file cannot be mapped
            return None
        small = found["size"] <= SMALL_BYTES
        if not small and is_sealed(path, found, within_seconds=self._reverify_seconds):
            note_use(path)
            return content
        if hashlib.sha256(content).hexdigest() != path.name.split(".")[1]:
            return None
        if not (small and note_use(path)):
            seal(path, found)
        return content

    def _fetched(self, store: Store, shard: Shard, columns: tuple[str, ...], home: Path, prefix: str) -> pa.Table:
        parts = decoded(store.uri, shard, verified_bytes(store, shard), columns)
        path, content = _written(parts, home, prefix)
        self._counts.add(misses=1, bytes_fetched=shard.size_bytes)
        self._make_room(path)
        return _table(content)

    def _make_room(self, added: Path) -> None:
        """Evict when there may be too much: the folder is looked through again after a sixteenth of the room that was left, so up to
        sixteen processes that fill it together stay within the bound.
        """
        with self._room_lock:
            self._room_bytes -= added.stat().st_size
            if self._room_bytes > 0:
                return
            with one_at_a_time(self._folder / "locks" / "eviction", patience_seconds=0) as mine:
                if mine:
                    held = _evict(self._folder / "shards", self._max_bytes, keep=added)
                    self._room_bytes = max(self._max_bytes - held, 0) // 16


def _sweep_once(folder: Path) -> None:
    """Remove what killed writers left, the first time this process uses the folder."""
    if (os.getpid(), folder) not in _swept:
        _swept.add((os.getpid(), folder))
        with contextlib.suppress(OSError):
            sweep(folder)


def _evict(folder: Path, max_bytes: int, *, keep: Path) -> int:
    """Remove the least recently used shards above the bound; returns the bytes that stay."""
    files = sorted(_files(folder))
    held = sum(size for _, size, _ in files)
    for _, size, path in files:
        if held > max_bytes and path != keep:
            path.unlink(missing_ok=True)
            seal_of(path).unlink(missing_ok=True)
            held -= size
    return held


def _candidates(home: Path, prefix: str) -> list[Path]:
    try:
        return [path for path in home.iterdir() if path.name.startswith(prefix) and path.suffix == ".arrow"]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused(home, error) from error


def _content(file: IO[bytes], size: int) -> pa.Buffer:
    if size <= SMALL_BYTES:
        file.seek(0)
        return pa.py_buffer(file.read())
    return pa.py_buffer(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def _table(content: pa.Buffer) -> pa.Table:
    return pa.ipc.open_file(content).read_all()


class _Hashing:
    """A file that hashes what is written through it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self.sha256.update(view)
        written = 0
        while written < len(view):
            written += self._file.write(view[written:])
        return len(view)

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        self.closed = True


def _written(parts: Iterator[pa.RecordBatch], home: Path, prefix: str) -> tuple[Path, pa.Buffer]:
    """Put the parts into a file, hashed on their way; returns its place and its bytes. Memory holds one part."""
    first = next(parts)
    with being_written(home) as (temporary, file):
        sink = _Hashing(file)
        with pa.ipc.new_file(pa.PythonFile(cast(Any, sink), mode="w"), first.schema) as writer:
            for part in chain([first], parts):
                writer.write_batch(part)
        os.fsync(file.fileno())
        path = home / f"{prefix}{sink.sha256.hexdigest()}.arrow"
        temporary.replace(path)
        written = identity(file)
        content = _content(file, written["size"])
    if written["size"] > SMALL_BYTES:
        time.sleep(2 * CLOCK_TICK_SECONDS)  # a younger seal is not trusted
    seal(path, written)
    return path, content


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """(last use, size, path) of every cached shard."""
    for path in folder.glob("*/*.arrow"):
        with contextlib.suppress(OSError):
            yield last_use(path), path.stat().st_size, path
