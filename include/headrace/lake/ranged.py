"""A stored object as a file for readers that seek: each read is one ranged request under one ETag.

What is read this way is not the whole object, so its SHA-256 cannot be checked; Parquet's page checksums and the sample digest are.
"""

from __future__ import annotations

import io
from typing import Any

from headrace.lake.store import Store


class RangedFile(io.RawIOBase):
    """Read-only, `size_bytes` long. Counts what it read in `bytes_read`."""

    def __init__(self, store: Store, key: str, *, size_bytes: int, etag: str | None = None) -> None:
        self._store, self._key, self._size, self._etag = store, key, size_bytes, etag
        self._position = 0
        self.bytes_read = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def size(self) -> int:
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        data = self._store.get_range(self._key, self._position, end, etag=self._etag)
        self._position += len(data)
        self.bytes_read += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
