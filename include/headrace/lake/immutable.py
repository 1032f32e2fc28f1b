"""Writing what never changes: all or nothing, and safe to repeat.

An immutable object is written create-only. When the key is taken, the writer may have lost its own answer, another run may have
written the same bytes, or the key holds something else: reading back tells them apart, and only the last is an error.
Shards are too big to hold twice, so they go up from a file and are read back and hashed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from headrace.errors import FinalError
from headrace.lake.errors import AlreadyThere, StoredBytesDiffer
from headrace.lake.store import Store


class ContentConflict(FinalError):
    """An immutable key holds other bytes than the ones that belong there."""


def write_once(store: Store, key: str, data: bytes) -> bool:
    """Create the object. True when this call wrote it, False when the same bytes were there.

    Raises `ContentConflict` when other bytes are there.
    """
    try:
        store.put_new(key, data)
    except AlreadyThere as error:
        if store.get(key).data == data:
            return False
        raise ContentConflict(
            f"{store.uri}/{key}",
            found="other bytes",
            expected="the bytes this run made, or none",
            remedy="Two writers disagree about an immutable object: keep both and report it.",
        ) from error
    return True


def upload_verified(store: Store, key: str, path: Path, *, sha256: str) -> bool:
    """Put a finished file under its content-addressed key and read it back. True when bytes were uploaded.

    What is already there and right is left alone; what is there and wrong is written again.
    Raises `StoredBytesDiffer` when the store does not give back what it was given.
    """
    size = path.stat().st_size
    if is_stored(store, key, size_bytes=size, sha256=sha256):
        return False
    store.put_file(key, path, sha256=sha256)
    if not is_stored(store, key, size_bytes=size, sha256=sha256):
        raise StoredBytesDiffer(
            f"{store.uri}/{key}",
            found="other bytes than were sent",
            expected=f"{size} bytes with SHA-256 {sha256}",
            remedy="Try again; if it lasts, the store or the way to it corrupts data.",
        )
    return True


def is_stored(store: Store, key: str, *, size_bytes: int, sha256: str) -> bool:
    """Whether the store gives back exactly those bytes. Reads the whole object."""
    info = store.head(key)
    if info is None or info.size_bytes != size_bytes:
        return False
    return hashlib.sha256(store.get(key, etag=info.etag).data).hexdigest() == sha256
