"""Files that many processes make and read at once: whole or not there, and nothing left behind by a kill.

A file is written under a temporary name and renamed. Its writer holds the kernel's lock on it meanwhile, so that a sweep can tell a
file being written from one whose writer was killed. A forked child inherits open files and with them the locks; it closes them at
once, so that its life does not prolong its parent's lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from headrace.loader.errors import CacheRefused

_YOUNG_SECONDS: Final = 60.0
_held: Final[set[int]] = set()


def _let_go() -> None:
    """In a forked child: the parent's locks are not ours."""
    for descriptor in list(_held):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def being_written(folder: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A temporary file in `folder`, locked while open and gone afterwards unless it was renamed. Raises `CacheRefused`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{uuid.uuid4().hex}.tmp"
        file = path.open("x+b", buffering=0)
    except OSError as error:
        raise refused(folder, error) from error
    with file:
        descriptor = file.fileno()
        _held.add(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield path, file
        except OSError as error:
            raise refused(folder, error) from error
        finally:
            _held.discard(descriptor)
            path.unlink(missing_ok=True)


def place_bytes(path: Path, data: bytes) -> None:
    """Put a small file in place. Another process that places the same is no conflict: the names are digests."""
    with being_written(path.parent) as (temporary, file):
        file.write(data)
        temporary.replace(path)


def sweep(folder: Path) -> int:
    """Remove temporary files whose writers are dead; returns how many. A file of this minute may not be locked yet and stays."""
    swept = 0
    for path in folder.rglob("*.tmp"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < _YOUNG_SECONDS:
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
            swept += 1
    return swept


@contextlib.contextmanager
def one_at_a_time(path: Path, *, patience_seconds: float) -> Iterator[bool]:
    """Wait for a lock between the processes and threads of a machine; yields whether it was got.

    The kernel lets go of it when its holder dies. The lock only saves work done twice: whoever has waited `patience_seconds` goes on
    without it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        descriptor = file.fileno()
        _held.add(descriptor)
        try:
            yield _locked(descriptor, patience_seconds)
        finally:
            _held.discard(descriptor)


def _locked(descriptor: int, patience_seconds: float) -> bool:
    deadline, pause = time.monotonic() + patience_seconds, 0.001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        else:
            return True


def refused(folder: Path, error: OSError) -> CacheRefused:
    """The cache folder does not take files."""
    return CacheRefused(
        f"cache folder {folder}",
        found=f"{type(error).__name__}: {error.strerror}",
        expected="a folder with room that this process may write",
        remedy="Give the loader another cache_folder, or free some space.",
    )
