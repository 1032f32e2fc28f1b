"""A lake in a local folder: for one machine, for tests, and for a mounted disk.

Create-only writes use a hard link (atomic on one file system), compare-and-swap a lock file that the kernel releases when
its holder dies. An ETag is made of the file's modification time, size and inode; a swap always moves the modification time
forward, so that an old ETag can never come back. Keys that a folder cannot hold exactly (empty, `.` or `..` segments,
a leading `/`) are refused by name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote, urlparse

from headrace.errors import HeadraceError
from headrace.lake.errors import AlreadyThere, KeyRefused, ObjectChanged, ObjectMissing, PointerMoved
from headrace.lake.store import Body, Fetched, ObjectInfo

_PRIVATE = ".headrace-lake"


class LocalStore:
    """A store below one folder. Safe for many processes of one machine."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._private = self._root / _PRIVATE

    @classmethod
    def from_uri(cls, uri: str) -> LocalStore:
        """`file:///folder`."""
        return cls(Path(unquote(urlparse(uri).path)))

    @property
    def uri(self) -> str:
        return "file://" + quote(str(self._root))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        folder = self._root / prefix.rpartition("/")[0]
        found = [key for key in self._walk(folder) if key.startswith(prefix)]
        for key in sorted(found, key=lambda k: k.encode(errors="surrogateescape")):
            info = self.head(key)
            if info is not None:
                yield info

    def head(self, key: str) -> ObjectInfo | None:
        path = self._path(key)
        if not path.is_file():
            return None
        return _info(key, path.stat())

    def get(self, key: str, *, etag: str | None = None) -> Body:
        try:
            with self._path(key).open("rb") as file:
                found = _etag(os.fstat(file.fileno()))
                if etag is not None and found != etag:
                    raise ObjectChanged(
                        f"{self.uri}/{key}",
                        found=f"ETag {found}",
                        expected=f"ETag {etag}, as listed",
                        remedy="Take a fresh listing and read again.",
                    )
                return Body(data=file.read(), etag=found)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise self._missing(key) from error

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        for info in wanted:
            body: Body | HeadraceError
            try:
                body = self.get(info.key, etag=info.etag)
            except HeadraceError as error:
                body = error
            yield Fetched(wanted=info, body=body)

    def put_new(self, key: str, data: bytes) -> str:
        path = self._path(key)
        temporary = self._temporary(data)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(temporary, path)
        except FileExistsError as error:
            raise AlreadyThere(
                f"{self.uri}/{key}", found="an object", expected="a free key", remedy="Read it back and compare."
            ) from error
        finally:
            temporary.unlink()
        return _etag(path.stat())

    def put_file(self, key: str, path: Path, *, sha256: str) -> None:  # noqa: ARG002 - a local copy is read back by the caller
        target = self._path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._temporary(b"")
        shutil.copyfile(path, temporary)
        _sync(temporary)
        temporary.replace(target)

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        path = self._path(key)
        with self._locked():
            current = path.stat() if path.is_file() else None
            found = None if current is None else _etag(current)
            if found != expected:
                raise PointerMoved(
                    f"{self.uri}/{key}",
                    found=f"ETag {found}",
                    expected=f"ETag {expected}",
                    remedy="Read the pointer again and rebase.",
                )
            temporary = self._temporary(data)
            if current is not None:
                fresh = max(temporary.stat().st_mtime_ns, current.st_mtime_ns + 1)
                os.utime(temporary, ns=(fresh, fresh))
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(path)
            return _etag(path.stat())

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def _walk(self, folder: Path) -> Iterator[str]:
        for parent, folders, names in os.walk(folder):
            if _PRIVATE in folders:
                folders.remove(_PRIVATE)
            base = Path(parent).relative_to(self._root).as_posix()
            yield from (name if base == "." else f"{base}/{name}" for name in names)

    def _path(self, key: str) -> Path:
        segments = key.split("/")
        if any(segment in {"", ".", "..", _PRIVATE} for segment in segments) or "\0" in key:
            raise KeyRefused(
                repr(key),
                found="an empty, '.' or '..' segment",
                expected="a key a folder can hold",
                remedy="Use an S3 lake for such keys, or rename the object.",
            )
        return self._root.joinpath(*segments)

    def _missing(self, key: str) -> ObjectMissing:
        return ObjectMissing(
            f"{self.uri}/{key}", found="no object", expected="an object", remedy="Check the key against a fresh listing."
        )

    def _temporary(self, data: bytes) -> Path:
        self._private.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._private)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        return Path(name)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._private.mkdir(parents=True, exist_ok=True)
        with (self._private / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _etag(stat: os.stat_result) -> str:
    return f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{stat.st_ino:x}"


def _info(key: str, stat: os.stat_result) -> ObjectInfo:
    modified = datetime.fromtimestamp(stat.st_mtime, tz=UTC)
    return ObjectInfo(key=key, size_bytes=stat.st_size, etag=_etag(stat), modified=modified)
