"""What a cached file was when its bytes were last verified, so that they need not be hashed at every opening.

A seal stands beside the file and holds its inode, size and times of change, and when it was verified; its own time of change is the
file's last use. A write to the file changes its times and breaks the seal.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import IO, Final

from headrace.loader.errors import CacheRefused
from headrace.loader.files import place_bytes

CLOCK_TICK_SECONDS: Final = 0.02
"""A file changed again within one tick of the file system's clock (10 ms at most) keeps its times: a seal that fresh is not trusted."""

Identity = dict[str, int]


def identity(file: IO[bytes]) -> Identity:
    """Which file this is, and in which state."""
    stat = os.fstat(file.fileno())
    return {"inode": stat.st_ino, "size": stat.st_size, "modified": stat.st_mtime_ns, "changed": stat.st_ctime_ns}


def seal_of(path: Path) -> Path:
    """Where a file's seal stands."""
    return path.with_suffix(".seal")


def is_sealed(path: Path, found: Identity, *, within_seconds: float) -> bool:
    """Whether the file, as found, was verified at most so long ago."""
    try:
        fields = json.loads(seal_of(path).read_bytes())
        settled = fields["at"] - found["changed"] / 1e9 > CLOCK_TICK_SECONDS
        return bool(fields["file"] == found and settled and 0 <= time.time() - fields["at"] <= within_seconds)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def seal(path: Path, verified: Identity) -> None:
    """Say that the file, in this state, was verified just now. A cache that takes no files works without."""
    with contextlib.suppress(CacheRefused):
        place_bytes(seal_of(path), json.dumps({"file": verified, "at": time.time()}).encode())


def note_use(path: Path) -> bool:
    """Note that the file was used; False when it has no seal."""
    try:
        os.utime(seal_of(path))
    except OSError:
        return False
    return True


def last_use(path: Path) -> float:
    """When the file was used last, in seconds since 1970."""
    try:
        return seal_of(path).stat().st_mtime
    except OSError:
        return path.stat().st_mtime
