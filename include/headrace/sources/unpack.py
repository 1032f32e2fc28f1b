"""Taking declared layers off an object: gzip, zstd, tar, zip.

Nothing is unpacked that the declaration does not name. Members of an archive become samples or tables of their own; links, devices and
folders are never followed or created, only skipped and counted, and a member's name is a text, never a path. What unpacks to more
than the declared limit is refused while it unpacks, so a bomb costs at most the limit.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa

from headrace.lake.store import Buffer
from headrace.sources.errors import ObjectRefused

_CHUNK_BYTES: Final = 1 << 20
_TAR_BLOCK: Final = 512
_ENCRYPTED: Final = 0x1
_LINK_MODE: Final = 0o120000
_FIX_SOURCE: Final = "Land the object again as declared, or correct Source.unpack."

FOLDER: Final = "member is a folder"
LINK: Final = "member is a link"
SPECIAL: Final = "member is a device or pipe"
HOUSEKEEPING: Final = "member is a housekeeping file"
EMPTY: Final = "member is empty"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One thing to decode: the object itself (`name` None) or one file of an archive."""

    name: str | None
    data: Buffer


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """An object's members in their order, and how many were skipped for which reason."""

    members: tuple[Member, ...]
    skipped: dict[str, int] = field(default_factory=dict)


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


def unpack(key: str, data: Buffer, layers: tuple[str, ...], limit_bytes: int) -> Unpacked:
    """Take the layers off, outermost first.

    Raises:
        ObjectRefused: not of that kind, truncated, encrypted, two members of one name, or more than `limit_bytes` in all.
    """
    _check_size(key, len(data), limit_bytes)
    unpacked = Unpacked(members=(Member(name=None, data=data),))
    for layer in layers:
        budget = _Budget(key, limit_bytes)
        try:
            parts = [_LAYERS[layer](key, member, budget) for member in unpacked.members]
        except (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise ObjectRefused(
                key,
                kind=f"unreadable {layer}",
                found=str(error) or type(error).__name__,
                expected=f"{layer} data",
                remedy=_FIX_SOURCE,
            ) from error
        skipped = Counter(unpacked.skipped)
        for part in parts:
            skipped.update(part.skipped)
        unpacked = Unpacked(
            members=tuple(member for part in parts for member in part.members), skipped=dict(sorted(skipped.items()))
        )
    return unpacked


class _Budget:
    """What an object may still unpack to."""

    def __init__(self, key: str, limit_bytes: int) -> None:
        self._key, self._limit, self._used = key, limit_bytes, 0

    def take(self, size: int) -> None:
        self._used += size
        _check_size(self._key, self._used, self._limit)

    def read(self, source: _Reader) -> bytes:
        pieces = []
        while piece := source.read(_CHUNK_BYTES):
            self.take(len(piece))
            pieces.append(piece)
        return b"".join(pieces)


def _check_size(key: str, size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise ObjectRefused(
            key,
            kind="too large",
            found=f"more than {limit_bytes} bytes" if size <= 2 * limit_bytes else f"{size} bytes",
            expected=f"at most {limit_bytes} bytes unpacked",
            remedy="Raise Source.max_unpacked_bytes if this is real data: a task needs about that much memory.",
        )


def _gunzip(_key: str, member: Member, budget: _Budget) -> Unpacked:
    if len(member.data) == 0:
        raise EOFError("0 bytes")
    with gzip.GzipFile(fileobj=io.BytesIO(member.data)) as file:  # reads every member of a multi-member file
        return Unpacked(members=(Member(name=member.name, data=budget.read(file)),))


def _unzstd(_key: str, member: Member, budget: _Budget) -> Unpacked:
    if len(member.data) == 0:
        raise EOFError("0 bytes")
    with pa.CompressedInputStream(pa.BufferReader(member.data), "zstd") as stream:
        return Unpacked(members=(Member(name=member.name, data=budget.read(stream)),))


def _untar(key: str, member: Member, budget: _Budget) -> Unpacked:
    members: list[Member] = []
    skipped: Counter[str] = Counter()
    whole = memoryview(member.data)
    with tarfile.open(fileobj=io.BytesIO(member.data), mode="r:") as archive:
        for entry in archive:
            reason = _why_not_tar(entry) or _why_not(entry.name, entry.size)
            if reason is not None:
                skipped[reason] += 1
                continue
            budget.take(entry.size)
            members.append(Member(name=entry.name, data=_tar_bytes(archive, entry, whole)))
        end = archive.offset
    # tarfile takes a file cut between two members, or a broken header, for the end: only the closing zero block tells.
    if bytes(whole[end : end + _TAR_BLOCK]) != bytes(_TAR_BLOCK):
        raise EOFError(f"no end-of-archive mark after {len(members)} members")
    return Unpacked(members=_each_once(key, members), skipped=dict(skipped))


def _tar_bytes(archive: tarfile.TarFile, entry: tarfile.TarInfo, whole: memoryview) -> Buffer:
    if entry.issparse():
        file = archive.extractfile(entry)
        return b"" if file is None else file.read()
    return whole[entry.offset_data : entry.offset_data + entry.size]


def _unzip(key: str, member: Member, budget: _Budget) -> Unpacked:
    members: list[Member] = []
    skipped: Counter[str] = Counter()
    with zipfile.ZipFile(io.BytesIO(member.data)) as archive:
        for entry in archive.infolist():
            reason = _why_not_zip(entry) or _why_not(entry.filename, entry.file_size)
            if reason is not None:
                skipped[reason] += 1
                continue
            if entry.flag_bits & _ENCRYPTED:
                raise zipfile.BadZipFile(f"member {entry.filename!r} is encrypted")
            with archive.open(entry) as file:
                members.append(Member(name=entry.filename, data=budget.read(file)))
    return Unpacked(members=_each_once(key, members), skipped=dict(skipped))


def _why_not_tar(entry: tarfile.TarInfo) -> str | None:
    if entry.isdir():
        return FOLDER
    if entry.issym() or entry.islnk():
        return LINK
    return None if entry.isreg() else SPECIAL


def _why_not_zip(entry: zipfile.ZipInfo) -> str | None:
    if entry.is_dir():
        return FOLDER
    return LINK if (entry.external_attr >> 16) & 0o170000 == _LINK_MODE else None


def _why_not(name: str, size: int) -> str | None:
    if name.rpartition("/")[2].startswith("._") or "__MACOSX/" in name or name.endswith(".DS_Store"):
        return HOUSEKEEPING
    return EMPTY if size == 0 else None


def _each_once(key: str, members: list[Member]) -> tuple[Member, ...]:
    """Archives may hold one name twice, and readers then disagree about which one counts."""
    names = Counter(member.name for member in members)
    twice = sorted(str(name) for name, count in names.items() if count > 1)
    if twice:
        raise ObjectRefused(
            key,
            kind="repeated member",
            found=f"member {twice[0]!r} {names[twice[0]]} times",
            expected="each name once",
            remedy=_FIX_SOURCE,
        )
    return tuple(members)


_LAYERS: Final[dict[str, Callable[[str, Member, _Budget], Unpacked]]] = {
    "gz": _gunzip,
    "zst": _unzstd,
    "tar": _untar,
    "zip": _unzip,
}
