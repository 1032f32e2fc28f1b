"""Writing what never changes: all or nothing, and safe to repeat.

An immutable object is written create-only. When the key is taken, the writer may have lost its own answer, another run may have
written the same bytes, or the key holds something else: reading back tells them apart, and only the last is an error.
Shards are too big to hold twice, so they go up from a file and are read back and hashed.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from headrace.errors import FinalError
from headrace.lake.errors import AlreadyThere, PointerMoved, StoredBytesDiffer
from headrace.lake.store import Store, Stored

_HEADS_AT_ONCE: Final = 16
_OVERWRITES: Final = 10


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


def overwrite(store: Store, key: str, data: bytes) -> None:
    """Put an object whose content may be replaced: what is derived from something else and can be made again.

    A lost answer looks like somebody else's write: our own bytes under the key mean that it was ours.
    """
    for _ in range(_OVERWRITES):
        current = store.head(key)
        try:
            store.swap(key, data, expected=None if current is None else current.etag)
        except PointerMoved as error:
            moved = error
            if store.head(key) is not None and store.get(key).data == data:
                return
        else:
            return
    raise moved


def upload_verified(store: Store, key: str, path: Path, *, sha256: str) -> bool:
    """Put a finished file under its content-addressed key and read it back. True when bytes were uploaded.

    What is already there and right is left alone; what is there and wrong is written again.
    Raises `StoredBytesDiffer` when the store does not give back what it was given.
    """
    wanted = Stored(size_bytes=path.stat().st_size, sha256=sha256)
    info = store.head(key)
    if info is not None and info.size_bytes == wanted.size_bytes and store.stored(key) == wanted:
        return False
    store.put_file(key, path)
    found = store.stored(key)
    if found != wanted:
        raise StoredBytesDiffer(
            f"{store.uri}/{key}",
            found="nothing" if found is None else f"{found.size_bytes} bytes with SHA-256 {found.sha256}",
            expected=f"{wanted.size_bytes} bytes with SHA-256 {sha256}",
            remedy="Try again; if it lasts, the store or the way to it corrupts data.",
        )
    return True


def lacking(store: Store, wanted: Iterable[tuple[str, int]]) -> list[str]:
    """Which of these (key, size in bytes) are not there in full length. Asks for facts only, sixteen at a time."""

    def is_lacking(item: tuple[str, int]) -> bool:
        info = store.head(item[0])
        return info is None or info.size_bytes != item[1]

    items = list(wanted)
    with ThreadPoolExecutor(_HEADS_AT_ONCE, thread_name_prefix="headrace-head") as pool:
        return [key for (key, _), lacks in zip(items, pool.map(is_lacking, items), strict=True) if lacks]
