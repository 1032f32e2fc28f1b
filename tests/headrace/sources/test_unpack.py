"""Containers: members become samples, links are never followed, bombs cost at most the limit."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile

import pyarrow as pa
import pytest
from headrace.sources.errors import ObjectRefused
from headrace.sources.unpack import unpack

LIMIT = 1_000_000


def members(data: bytes, *layers: str, limit: int = LIMIT) -> dict[str | None, bytes]:
    return {member.name: bytes(member.data) for member in unpack("in/x", data, layers, limit).members}


def refusal(data: bytes, *layers: str, limit: int = LIMIT) -> ObjectRefused:
    with pytest.raises(ObjectRefused) as caught:
        unpack("in/x", data, layers, limit)
    assert caught.value.subject == "in/x"
    return caught.value


def tar(*entries: tuple[str, bytes | tarfile.TarInfo], end: bool = True) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in entries:
            info = tarfile.TarInfo(name) if isinstance(content, bytes) else content
            info.name, info.size = name, len(content) if isinstance(content, bytes) else 0
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
        last = archive.offset
    return sink.getvalue() if end else sink.getvalue()[:last]


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo()
    info.type, info.linkname = kind, target
    return info


def zipped(**entries: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return sink.getvalue()


def zst(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data).to_pybytes()


def test_nothing_declared_is_nothing_unpacked() -> None:
    """Whatever the bytes look like."""
    data = gzip.compress(b"x")

    assert members(data) == {None: data}


def test_every_member_of_a_gzip_file_is_read() -> None:
    """Concatenated gzip files are one gzip file."""
    assert members(gzip.compress(b"one,") + gzip.compress(b"two"), "gz") == {None: b"one,two"}


def test_every_frame_of_a_zstd_file_is_read() -> None:
    """As with gzip."""
    assert members(zst(b"one,") + zst(b"two"), "zst") == {None: b"one,two"}


@pytest.mark.parametrize(
    ("layer", "data"),
    [
        ("gz", b"plain text"),
        ("gz", gzip.compress(b"x" * 1000, mtime=0)[:-5]),
        ("gz", gzip.compress(b"x", mtime=0) + b"junk"),
        ("gz", b""),
        ("zst", b"plain text"),
        ("zst", zst(b"x" * 1000)[:-2]),
        ("zst", zst(b"x") + b"junk"),
        ("zst", b""),
        ("tar", b"plain text"),
        ("tar", tar(("a", b"x" * 600))[:700]),
        ("tar", b""),
        ("zip", b"plain text"),
        ("zip", zipped(a=b"x" * 1000)[:-5]),
        ("zip", b""),
    ],
)
def test_what_is_not_whole_or_not_of_the_kind_is_refused(layer: str, data: bytes) -> None:
    """By the layer's name."""
    assert refusal(data, layer).kind == f"unreadable {layer}"


def test_a_tar_cut_between_two_members_is_refused() -> None:
    """It would read as a shorter archive without an error."""
    whole = tar(("a", b"1" * 512), ("b", b"2" * 512), end=False)

    assert "no end-of-archive mark" in refusal(whole, "tar").found
    assert "no end-of-archive mark" in refusal(whole[: len(whole) // 2], "tar").found


def test_a_broken_header_inside_a_tar_is_refused() -> None:
    """The standard library takes it for the end."""
    data = bytearray(tar(("a", b"1" * 512), ("b", b"2" * 512)))
    data[1024 + 150] ^= 1  # inside the second header's checksum field

    assert refusal(bytes(data), "tar").kind == "unreadable tar"


def test_only_files_of_a_tar_are_samples() -> None:
    """Links, devices and folders are counted, never followed or made; names are texts."""
    data = tar(
        ("../../etc/passwd", b"just a name"),
        ("/absolute", b"also a name"),
        ("link", special(tarfile.SYMTYPE, "/etc/passwd")),
        ("hard", special(tarfile.LNKTYPE, "/absolute")),
        ("dev", special(tarfile.BLKTYPE)),
        ("pipe", special(tarfile.FIFOTYPE)),
        ("folder", special(tarfile.DIRTYPE)),
        ("._x", b"resource fork"),
        ("__MACOSX/y", b"resource fork"),
        ("empty", b""),
        ("漢字", b"z"),
    )

    unpacked = unpack("in/x", data, ("tar",), LIMIT)

    assert {m.name: bytes(m.data) for m in unpacked.members} == {
        "../../etc/passwd": b"just a name",
        "/absolute": b"also a name",
        "漢字": b"z",
    }
    assert unpacked.skipped == {
        "member is a device or pipe": 2,
        "member is a folder": 1,
        "member is a housekeeping file": 2,
        "member is a link": 2,
        "member is empty": 1,
    }


def test_links_in_a_zip_are_not_followed() -> None:
    """A zip link is a file whose content is the target."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.mkdir("folder")
        archive.writestr("a", b"x")

    unpacked = unpack("in/x", sink.getvalue(), ("zip",), LIMIT)

    assert [m.name for m in unpacked.members] == ["a"]
    assert unpacked.skipped == {"member is a folder": 1, "member is a link": 1}


def test_a_name_that_stands_twice_is_refused() -> None:
    """Readers disagree about which of them counts."""
    assert refusal(tar(("a", b"1"), ("a", b"2")), "tar").kind == "repeated member"


def test_layers_come_off_from_the_outside() -> None:
    """`.tar.gz`, and gzip members of a tar."""
    inner = tar(("a", b"x"), ("b", b"y"))

    assert members(gzip.compress(inner), "gz", "tar") == {"a": b"x", "b": b"y"}
    assert members(tar(("a", gzip.compress(b"x"))), "tar", "gz") == {"a": b"x"}


BOMB = b"\0" * 50_000_000


@pytest.mark.parametrize(
    ("layers", "data"),
    [
        (("gz",), gzip.compress(BOMB)),
        (("zst",), zst(BOMB)),
        (("zip",), zipped(a=BOMB)),
        (("gz", "tar"), gzip.compress(tar(("a", BOMB)))),
        (("zip",), zipped(**{str(n): b"\0" * 400_000 for n in range(9)})),
        ((), b"x" * 1_000_001),
    ],
)
def test_what_unpacks_to_more_than_the_limit_is_refused(layers: tuple[str, ...], data: bytes) -> None:
    """Over all members together, while it unpacks."""
    assert refusal(data, *layers).kind == "too large"


def test_a_zip_that_understates_its_size_is_refused() -> None:
    """The sizes in its headers are what the archive says, not what it does."""
    data = zipped(a=BOMB).replace(len(BOMB).to_bytes(4, "little"), (100).to_bytes(4, "little"))

    assert refusal(data, "zip").kind in {"unreadable zip", "too large"}


def test_an_encrypted_member_is_refused() -> None:
    """There is no key to ask for."""
    data = bytearray(zipped(a=b"x"))
    data[6] |= 1
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1

    assert refusal(bytes(data), "zip").kind == "unreadable zip"
