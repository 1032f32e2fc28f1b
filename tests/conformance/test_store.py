"""What every store promises, run over every store."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from headrace.lake.errors import AlreadyThere, ObjectChanged, ObjectMissing, PointerMoved
from headrace.lake.immutable import ContentConflict, lacking, overwrite, upload_verified, write_once
from headrace.lake.probe import require_conditional_writes
from headrace.lake.ranged import RangedFile
from headrace.lake.store import Store, Stored, View

ODD_KEYS = [
    "a b",
    "a+b",
    "a%20b",
    "a#b?c=d&e",
    "emoji-\N{ROCKET}",
    "漢字",
    "e\u0301",
    "\u00e9",
    "it's",
    "*[]{}",
    "x:y;z,@$!",
    "year=2024/x=1",
    "tab\there",
]


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.servers)])
def store(request: pytest.FixtureRequest) -> Store:
    return request.getfixturevalue("lake" if request.param == "local" else "s3_store")


def test_gives_back_what_was_put(store: Store) -> None:
    """The bytes, the ETag of the write, and the listing agree."""
    etag = store.put_new("a/b.bin", b"bytes")

    body = store.get("a/b.bin")

    assert (body.data, body.etag) == (b"bytes", etag)
    assert [(o.key, o.size_bytes, o.etag) for o in store.list()] == [("a/b.bin", 5, etag)]


@pytest.mark.parametrize("key", ODD_KEYS)
def test_keeps_odd_keys_exactly(store: Store, key: str) -> None:
    """A key is neither decoded nor normalised, in writing, listing, and both ways of reading."""
    store.put_new(f"odd/{key}", b"x")

    listed = list(store.list("odd/"))

    assert [o.key for o in listed] == [f"odd/{key}"]
    assert store.get(f"odd/{key}").data == b"x"
    assert [f.body.data for f in store.get_many(listed) if isinstance(f.body, View)] == [b"x"]


def test_lists_a_prefix_in_byte_order_beyond_one_page(store: Store) -> None:
    """Three pages, and one that is exactly full: sorted by their bytes, the prefix taken literally."""
    keys = [f"many/{n:04d}" for n in range(2001)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put_new(key, b"1"), [*keys, "many2/x", "man"]))

    assert [o.key for o in store.list("many/")] == keys
    assert [o.key for o in store.list("many/0")] == keys[:1000]


def test_a_missing_object_is_named(store: Store) -> None:
    """Reading what is not there names the key; asking for its facts gives none; deleting it is no error."""
    with pytest.raises(ObjectMissing) as caught:
        store.get("not/there")

    assert caught.value.subject.endswith("not/there")
    assert store.head("not/there") is None
    store.delete("not/there")


def test_an_object_that_changed_since_the_listing_is_refused(store: Store) -> None:
    """Both ways of reading say so instead of giving the new bytes under the old name."""
    store.swap("k", b"old!", expected=None)
    listed = next(iter(store.list()))
    store.swap("k", b"new!", expected=listed.etag)

    with pytest.raises(ObjectChanged):
        store.get("k", etag=listed.etag)
    assert [type(f.body) for f in store.get_many([listed])] == [ObjectChanged]


def test_an_object_that_changed_between_two_ranges_is_refused(store: Store) -> None:
    """Bytes of the old and the new one are never put together."""
    store.swap("k", b"old!" * 4, expected=None)
    listed = next(iter(store.list()))
    file = RangedFile(store, "k", size_bytes=16, etag=listed.etag)
    assert file.read(4) == b"old!"
    store.swap("k", b"new!" * 4, expected=listed.etag)

    with pytest.raises(ObjectChanged):
        file.read(4)


def test_many_reads_come_back_in_order_with_failures_in_place(store: Store) -> None:
    """A missing object is one failed answer, not the end of the stream."""
    infos = []
    for n in range(40):
        store.put_new(f"n/{n:02d}", bytes([n]) * n)
    infos = list(store.list("n/"))
    infos[7] = replace(infos[7], key="n/gone")

    answers = list(store.get_many(infos))

    assert [a.wanted.key for a in answers] == [i.key for i in infos]
    assert isinstance(answers[7].body, ObjectMissing)
    assert all(isinstance(a.body, View) and a.body.data == bytes([n]) * n for n, a in enumerate(answers) if n != 7)


def test_create_only_creates_once(store: Store) -> None:
    """The second creation is refused and the first bytes stay."""
    store.put_new("k", b"first")

    with pytest.raises(AlreadyThere):
        store.put_new("k", b"second")
    assert store.get("k").data == b"first"


def test_swap_needs_the_current_etag(store: Store) -> None:
    """A stale or missing expectation moves nothing."""
    first = store.swap("p", b"1", expected=None)
    second = store.swap("p", b"2", expected=first)

    for stale in (None, first, "nonsense"):
        with pytest.raises(PointerMoved):
            store.swap("p", b"3", expected=stale)
    assert store.get("p").etag == second


@pytest.mark.parametrize("attempt", range(10))
def test_one_of_eight_racing_writers_wins(store: Store, attempt: int) -> None:
    """Create-only and compare-and-swap each have exactly one winner."""

    def wins(action: str, number: int) -> bool:
        try:
            if action == "create":
                store.put_new("race/new", str(number).encode())
            else:
                store.swap("race/pointer", str(number).encode(), expected=etag)
        except (AlreadyThere, PointerMoved):
            return False
        return True

    etag = store.swap("race/pointer", b"start", expected=None)
    for action in ("create", "swap"):
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(lambda n, a=action: wins(a, n), range(8))) == 1


def test_a_file_is_uploaded_once_and_mended_when_damaged(store: Store, tmp_path: Path) -> None:
    """What is there and right is left alone; what is there and wrong is written again."""
    path = tmp_path / "shard"
    path.write_bytes(b"shard" * 1000)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    assert upload_verified(store, "s", path, sha256=sha256)
    assert not upload_verified(store, "s", path, sha256=sha256)
    store.delete("s")
    store.put_new("s", b"shard" * 999 + b"shaRd")
    assert upload_verified(store, "s", path, sha256=sha256)
    assert store.stored("s") == Stored(size_bytes=5000, sha256=sha256)


def test_an_immutable_object_accepts_its_own_bytes_again_and_no_others(store: Store) -> None:
    """A lost answer and a repeated run look alike and are fine; a disagreement is an error."""
    assert write_once(store, "i", b"content")
    assert not write_once(store, "i", b"content")
    with pytest.raises(ContentConflict):
        write_once(store, "i", b"other")


def test_conditional_writes_are_proven(store: Store) -> None:
    """The probe accepts this store and leaves nothing behind."""
    require_conditional_writes(store)

    assert list(store.list()) == []


def test_a_range_is_half_open_and_cut_at_the_end(store: Store) -> None:
    """Only while the object is still that one."""
    etag = store.put_new("k", b"0123456789")

    assert store.get_range("k", 2, 5) == b"234"
    assert store.get_range("k", 8, 99, etag=etag) == b"89"
    assert store.get_range("k", 4, 4) == b""
    fresh = store.swap("k", b"9876543210", expected=etag)
    with pytest.raises(ObjectChanged):
        store.get_range("k", 2, 5, etag=etag)
    assert store.get_range("k", 0, 1, etag=fresh) == b"9"


def test_a_ranged_file_reads_like_a_file(store: Store) -> None:
    """Seek, tell, read to the end, and what it cost."""
    store.put_new("k", b"0123456789")
    file = RangedFile(store, "k", size_bytes=10)

    assert (file.read(3), file.tell()) == (b"012", 3)
    assert file.seek(-2, 2) == 8
    assert file.read() == b"89"
    assert file.read(5) == b""
    assert file.bytes_read == 5


def test_what_is_stored_is_told_by_length_and_hash(store: Store) -> None:
    """None for what is not there."""
    store.put_new("k", b"x" * 5_000_001)

    assert store.stored("k") == Stored(size_bytes=5_000_001, sha256=hashlib.sha256(b"x" * 5_000_001).hexdigest())
    assert store.stored("other") is None


def test_a_large_file_goes_up_whole(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts, where the store has parts: nothing lies under the key before the last one."""
    from headrace.lake import s3_bulk

    monkeypatch.setattr(s3_bulk, "ONE_REQUEST_BYTES", 1_000_000)
    monkeypatch.setattr(s3_bulk, "PART_BYTES", 5 * 1024 * 1024)
    path = tmp_path / "shard"
    path.write_bytes(bytes(range(256)) * 50_000)

    assert upload_verified(store, "s", path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert [info.size_bytes for info in store.list()] == [12_800_000]


def test_an_overwrite_puts_the_newest(store: Store) -> None:
    """And is safe to repeat."""
    for data in (b"1", b"2", b"2"):
        overwrite(store, "k", data)

    assert store.get("k").data == b"2"


def test_what_lacks_is_named(store: Store) -> None:
    """Absent, or of another length."""
    store.put_new("a", b"1")
    store.put_new("b", b"12")

    assert lacking(store, [("a", 1), ("b", 1), ("c", 1)]) == ["b", "c"]


def test_no_object_below_a_pointer_is_a_moved_pointer(store: Store) -> None:
    """S3 itself answers 404 to a condition on a key that is gone."""
    with pytest.raises(PointerMoved):
        store.swap("p", b"1", expected="0123")
