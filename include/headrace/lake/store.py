"""What Headrace asks of storage: nine verbs, the same for an S3 bucket and a local folder.

Keys are relative to the store's URI and taken literally: no normalisation, no decoding. An ETag is an opaque token that
changes whenever the object changes; it is never compared with a content hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias

from headrace.errors import HeadraceError

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Bytes that may lie in memory a library owns; anything that reads them takes all three."""


@dataclass(frozen=True, kw_only=True, order=True, slots=True)
class ObjectInfo:
    """One listed object. `modified` is the store's clock, in UTC."""

    key: str
    size_bytes: int
    etag: str
    modified: datetime


@dataclass(frozen=True, kw_only=True)
class Body:
    """An object's bytes and the ETag they were read under."""

    data: bytes
    etag: str


@dataclass(frozen=True, kw_only=True)
class View:
    """An object's bytes without a copy, and the ETag they were read under."""

    data: Buffer
    etag: str


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """One answer of `get_many`: the bytes, or why there are none."""

    wanted: ObjectInfo
    body: View | HeadraceError


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a store gives back under one key."""

    size_bytes: int
    sha256: str


class Store(Protocol):
    """The verbs. Every implementation passes `tests/conformance/test_store.py`."""

    @property
    def uri(self) -> str:
        """Where the store is, without credentials."""

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object whose key starts with `prefix`, in the order of the keys' UTF-8 bytes."""

    def head(self, key: str) -> ObjectInfo | None:
        """The object's facts, None when there is none."""

    def get(self, key: str, *, etag: str | None = None) -> Body:
        """The whole object; with `etag`, only if it is still that one.

        Raises `ObjectMissing`, `ObjectChanged`, `StoreUnavailable`, `AccessRefused`.
        """

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """The bytes of the half-open range `[start, end)`, cut where the object ends. Raises as `get`."""

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        """Many objects in the order asked for, each only if it is still the listed one; bounded bytes in flight."""

    def stored(self, key: str) -> Stored | None:
        """Read every byte of the object and hash it in bounded memory; None when there is none."""

    def put_new(self, key: str, data: bytes) -> str:
        """Create the object and return its ETag. Raises `AlreadyThere` when the key is taken."""

    def put_file(self, key: str, path: Path) -> None:
        """Upload a finished local file: the whole object or none of it appears. Overwrites."""

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        """Compare-and-swap: write only if the current ETag is `expected` (None: only if there is no object).

        Raises `PointerMoved`, `NoConditionalWrites`.
        """

    def delete(self, key: str) -> None:
        """Remove the object; no error when there is none."""
