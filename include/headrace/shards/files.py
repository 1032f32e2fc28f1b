"""Hashing a local file without a copy of it in memory."""

from __future__ import annotations

import hashlib
import mmap
from pathlib import Path
from typing import Final

_WINDOW_BYTES: Final = 4 << 20


def sha256_of_file(path: Path) -> str:
    """Lower-case hex SHA-256 of a file's bytes. A window of 4 MiB at a time is mapped, so that the peak stays that of the window."""
    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        for start in range(0, size, _WINDOW_BYTES):
            with mmap.mmap(file.fileno(), min(_WINDOW_BYTES, size - start), access=mmap.ACCESS_READ, offset=start) as window:
                digest.update(window)
    return digest.hexdigest()
