"""A lake in a local folder: for one machine, for tests, and for a mounted disk.

Create-only writes use a hard link (atomic on one file system), compare-and-swap a lock file that the kernel releases when
its holder dies. An ETag is made of the file's modification time, size and inode; a swap always moves the modification time
forward, so that an old ETag can never come back. Keys that a folder cannot hold exactly (empty, `.` or `..` segments,
a leading `/`) are refused by name.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from io import BufferedReader, BufferedWriter
from pathlib import Path
from urllib.parse import quote, unquote, urlparse

from headrace.errors import HeadraceError
from headrace.lake.errors import AlreadyThere, DiskFull, KeyRefused, ObjectChanged, ObjectMissing, PointerMoved, is_disk_full
from headrace.lake.store import Body, Fetched, ObjectInfo, Stored, View

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
        try:
            found = self._path(key).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _info(key, found) if stat.S_ISREG(found.st_mode) else None

    def get(self, key: str, *, etag: str | None = None) -> Body:
        with self._reading(key, etag) as (file, found):
            return Body(data=file.read(), etag=found)

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        with self._reading(key, etag) as (file, _):
            file.seek(start)
            return file.read(max(end - start, 0))

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        for info in wanted:
            body: View | HeadraceError
            try:
                read = self.get(info.key, etag=info.etag)
                body = View(data=read.data, etag=read.etag)
            except HeadraceError as error:
                body = error
            yield Fetched(wanted=info, body=body)

    def stored(self, key: str) -> Stored | None:
        try:
            with self._reading(key, None) as (file, _):
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                return Stored(size_bytes=file.tell(), sha256=sha256)
        except ObjectMissing:
            return None

    def put_new(self, key: str, data: bytes) -> str:
        path = self._path(key)
        with self._temporary(data) as temporary:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(temporary, path)
            except FileExistsError as error:
                raise AlreadyThere(
                    f"{self.uri}/{key}", found="an object", expected="a free key", remedy="Read it back and compare."
                ) from error
        return _etag(path.stat())

    def put_file(self, key: str, path: Path) -> None:
        target = self._path(key)
        with self._temporary(path) as temporary:
            target.parent.mkdir(parents=True, exist_ok=True)
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
            with self._temporary(data) as temporary:
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

    @contextlib.contextmanager
    def _reading(self, key: str, etag: str | None) -> Iterator[tuple[BufferedReader, str]]:
        """The open file, if it is (still) the object wanted, and its ETag."""
        try:
            file = self._path(key).open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise ObjectMissing(
                f"{self.uri}/{key}", found="no object", expected="an object", remedy="Check the key against a fresh listing."
            ) from error
        with file:
            found = _etag(os.fstat(file.fileno()))
            if etag is not None and found != etag:
                raise ObjectChanged(
                    f"{self.uri}/{key}",
                    found=f"ETag {found}",
                    expected=f"ETag {etag}, as listed",
                    remedy="Take a fresh listing and read again.",
                )
            yield file, found

    @contextlib.contextmanager
    def _temporary(self, content: bytes | Path) -> Iterator[Path]:
        """A synced file of that content beside the lake's keys; gone afterwards unless it was moved to its key."""
        self._private.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._private)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _fill(file, content)
            Path(name).chmod(0o644)
            yield Path(name)
        except OSError as error:
            if is_disk_full(error):
                raise DiskFull.at(str(self._root), error) from error
            raise
        finally:
            Path(name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self._private.mkdir(parents=True, exist_ok=True)
        with (self._private / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _fill(file: BufferedWriter, content: bytes | Path) -> None:
    if isinstance(content, Path):
        with content.open("rb") as source:
            shutil.copyfileobj(source, file, 1 << 20)
    else:
        file.write(content)
    file.flush()
    os.fsync(file.fileno())


def _etag(stat: os.stat_result) -> str:
    return f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{stat.st_ino:x}"


def _info(key: str, stat: os.stat_result) -> ObjectInfo:
    modified = datetime.fromtimestamp(stat.st_mtime, tz=UTC)
    return ObjectInfo(key=key, size_bytes=stat.st_size, etag=_etag(stat), modified=modified)
