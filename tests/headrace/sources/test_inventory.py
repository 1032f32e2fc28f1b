"""What is there, exactly, and what changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from headrace.lake.local import LocalStore
from headrace.lake.store import ObjectInfo
from headrace.sources.inventory import (
    Difference,
    Inventory,
    Skipped,
    SourceObject,
    difference,
    inventory_from,
    inventory_to_bytes,
    prefix_of,
    take_inventory,
)
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
from hypothesis import given, settings
from hypothesis import strategies as st


class Listing:
    """A store that only lists."""

    def __init__(self, *infos: ObjectInfo) -> None:
        self._infos = infos

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return (info for info in self._infos if info.key.startswith(prefix))


def info(key: str, size: int = 1, modified: str = "2013-01-01T12:00:00") -> ObjectInfo:
    return ObjectInfo(key=key, size_bytes=size, etag="e", modified=datetime.fromisoformat(modified).replace(tzinfo=UTC))


def dataset(timezone: str = "UTC", **source: Any) -> Dataset:
    fields = {"prefix": "in/%Y/%m/%d/", "format": RawBytes(), **source}
    return Dataset(name="d", source=Source(**fields), timezone=timezone, start=date(2013, 1, 1))


def keys(ds: Dataset, partition: str, *infos: ObjectInfo) -> list[str]:
    return [one.key for one in take_inventory(Listing(*infos), ds, partition).objects]  # type: ignore[arg-type] # it only lists


def test_what_holds_no_sample_is_skipped_with_its_reason() -> None:
    """Never silently."""
    base = "in/2013/01/01/"
    names = ["a.csv", "", "b/", "empty.csv", "_SUCCESS", "._x", "__MACOSX/y", "notes.txt", "z.csv"]
    infos = [info(base + name, 0 if name == "empty.csv" else 1) for name in names]

    found = take_inventory(Listing(*infos), dataset(suffix=".csv"), "2013-01-01")  # type: ignore[arg-type] # it only lists

    assert [one.key for one in found.objects] == [base + "a.csv", base + "z.csv"]
    assert {skip.key.removeprefix(base): skip.reason for skip in found.skipped} == {
        "": "folder marker",
        "b/": "folder marker",
        "empty.csv": "empty object",
        "_SUCCESS": "housekeeping file",
        "._x": "housekeeping file",
        "__MACOSX/y": "housekeeping file",
        "notes.txt": "other suffix",
    }
    assert found.listed == len(names)


def test_keys_are_exact_and_in_byte_order() -> None:
    """Tabs, line ends, doubled and leading slashes, dots: as listed. Not in the order of any alphabet."""
    base = "in/2013/01/01/"
    odd = ["a//b", "\tx", "new\nline", "../up", "é", "Z", "a", "\U0001f680", "\uffff"]

    found = keys(dataset(), "2013-01-01", *(info(base + name) for name in odd))

    assert found == sorted((base + name for name in odd), key=str.encode)


def test_a_partition_is_a_local_day_of_the_store_clock() -> None:
    """Half-open, in the dataset's zone, where the key does not tell the day."""
    ds = dataset("America/New_York", prefix="in/", partition_by="modified")
    infos = [
        info("in/before", modified="2013-01-01T04:59:59"),
        info("in/first", modified="2013-01-01T05:00:00"),
        info("in/last", modified="2013-01-02T04:59:59"),
        info("in/after", modified="2013-01-02T05:00:00"),
    ]

    assert keys(ds, "2013-01-01", *infos) == ["in/first", "in/last"]
    assert keys(ds, "2013-01-02", *infos) == ["in/after"]


def test_partitions_of_a_day_of_23_and_25_hours_tile() -> None:
    """Each object belongs to one day when the clocks change."""
    ds = dataset("America/New_York", prefix="in/", partition_by="modified")
    hours = [
        info(f"in/{day:02d}-{hour:02d}", modified=f"2013-11-{day:02d}T{hour:02d}:30:00")
        for day in (2, 3, 4)
        for hour in range(24)
    ]

    dealt = [keys(ds, f"2013-11-0{day}", *hours) for day in range(1, 5)]

    assert sorted(key for day in dealt for key in day) == sorted(one.key for one in hours)
    assert len(dealt[2]) == 25


def test_a_partition_the_dataset_cannot_have_is_refused() -> None:
    """`all` and days do not mix."""
    assert prefix_of(dataset(), "2013-01-05") == "in/2013/01/05/"
    assert prefix_of(dataset(prefix="in/"), "all") == "in/"
    with pytest.raises(ValueError, match="the one partition 'all'"):
        prefix_of(dataset(prefix="in/"), "2013-01-05")
    with pytest.raises(ValueError, match="Invalid isoformat"):
        prefix_of(dataset(), "all")


OBJECTS = st.builds(SourceObject, key=st.text(min_size=1), size_bytes=st.integers(0, 2**40), etag=st.text())


@settings(deadline=None, max_examples=50)
@given(
    st.lists(OBJECTS, max_size=8, unique_by=lambda one: one.key),
    st.lists(st.builds(Skipped, key=st.text(), reason=st.text()), max_size=3),
)
def test_an_inventory_comes_back_as_it_was(objects: list[SourceObject], skipped: list[Skipped]) -> None:
    """With its digest, whatever the keys hold."""
    objects = [one for one in objects if one.etag.isascii()]
    inventory = Inventory(partition="2013-01-01", objects=tuple(objects), skipped=tuple(skipped))

    back = inventory_from(inventory_to_bytes(inventory))

    assert back == inventory
    assert back.digest == inventory.digest


def test_the_digest_covers_objects_and_skips() -> None:
    """A skipped object that appears is a change of what was seen."""
    one = Inventory(partition="all", objects=(SourceObject(key="a", size_bytes=1, etag="e"),), skipped=())
    others = [
        replace(one, objects=(SourceObject(key="b", size_bytes=1, etag="e"),)),
        replace(one, objects=(SourceObject(key="a", size_bytes=2, etag="e"),)),
        replace(one, objects=(SourceObject(key="a", size_bytes=1, etag="f"),)),
        replace(one, skipped=(Skipped(key="b", reason="empty object"),)),
    ]

    assert len({one.digest, *(other.digest for other in others)}) == 5


def test_a_difference_is_new_changed_and_gone() -> None:
    """By key, size and ETag."""

    def of(**etags: str) -> Inventory:
        objects = tuple(SourceObject(key=key, size_bytes=1, etag=etag) for key, etag in etags.items())
        return Inventory(partition="all", objects=objects, skipped=())

    found = difference(of(same="1", changed="1", gone="1"), of(same="1", changed="2", new="1"))

    assert found == Difference(new=("new",), changed=("changed",), gone=("gone",))
    assert difference(of(a="1"), of(a="1")) == Difference(new=(), changed=(), gone=())


def test_a_folder_is_listed_as_it_lies(landing: LocalStore) -> None:
    """The real store, 2,500 objects."""
    landing.put_new("in/2013/01/01/00000", b"x")
    landing.put_new("in/2013/01/02/other", b"x")
    folder = Path(landing.uri.removeprefix("file://")) / "in/2013/01/01"
    for number in range(1, 2_500):
        (folder / f"{number:05d}").write_bytes(b"x")

    found = take_inventory(landing, dataset(), "2013-01-01")

    assert [one.key for one in found.objects] == [f"in/2013/01/01/{number:05d}" for number in range(2_500)]
