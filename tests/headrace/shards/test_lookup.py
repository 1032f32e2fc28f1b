"""The index over all partitions: what it finds is what the partitions' own indexes say, and what it does not cover is asked of them."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.lake import layout
from headrace.lake.immutable import overwrite
from headrace.lake.local import LocalStore
from headrace.lake.store import ObjectInfo
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.gc import collect, find_garbage
from headrace.manifests.read import manifest_of, published
from headrace.shards import index as index_module
from headrace.shards.errors import SampleIdRepeated
from headrace.shards.find import find_by_id
from headrace.shards.index import Location, locate
from headrace.shards.lookup import DIGITS, METADATA_KEY, Answer, look_up, lookup_of, write_lookup
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.samples import position_ids
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv, RawBytes
from headrace.transforms.replay.find import Wanted, find_sample
from headrace.transforms.replay.replay import replay
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.transforms.build import FILES, compact, declared, land, run, step, transform
from tests.headrace.transforms.conftest import Project, project

__all__ = ["project"]
DAYS = [f"2013-01-0{day}" for day in range(1, 7)]


class Reads:
    """A store that remembers which objects were read."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self.objects: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: str, **kwargs: Any) -> Any:
        self.objects.add(key)
        return self._store.get(key, **kwargs)

    def get_range(self, key: str, *where: int, **kwargs: Any) -> bytes:
        self.objects.add(key)
        return self._store.get_range(key, *where, **kwargs)

    @property
    def rooms(self) -> list[str]:
        """Of the objects read, repeats kept: `lookup`, `manifests` ..."""
        return sorted(key.split("/")[1] for key in self.objects)


@pytest.fixture
def week(landing: LocalStore, lake: LocalStore) -> dict[str, str]:
    """Six days of seven samples; partition by sample ID, as the partitions' own indexes say."""
    found = {}
    for day in DAYS:
        land(landing, {f"{n}": f"{day} {n}".encode() for n in range(7)}, day.replace("-", "/"))
        manifest = compact(landing, lake, FILES, day)
        found |= dict.fromkeys(ids_of(lake, day), day)
        assert manifest.counts.samples == 7
    return found


def ids_of(lake: LocalStore, day: str, dataset: str = "files") -> list[str]:
    from tests.headrace.transforms.build import rows

    return [row["sample_id"] for row in rows(lake, manifest_of(lake, published(lake, dataset), day))]


def own(lake: LocalStore, day: str, sample_id: str) -> Location | None:
    return locate(lake, manifest_of(lake, published(lake, "files"), day), sample_id)


def test_every_sample_is_found_where_its_partition_says(
    lake: LocalStore, week: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the merged index is cut into several files; an unknown ID is in none."""
    monkeypatch.setattr(index_module, "FILE_ROWS", 1)
    release = published(lake, "files")

    made = write_lookup(lake, release)

    assert [lookup_of(lake, "files", digit) for digit in DIGITS] == made
    assert (len(made), sum(one.rows for one in made)) == (16, 42)
    for sample_id, day in week.items():
        where = own(lake, day, sample_id)
        assert look_up(lake, "files", sample_id) == Answer(covered=release.partitions, partition=day, where=where)
    assert look_up(lake, "files", "8" * 32) == Answer(covered=release.partitions, partition=None, where=None)


@pytest.mark.parametrize("sample_id", ["", "no ID", "../LATEST", "G" * 32])
def test_what_is_no_id_is_in_no_partition(lake: LocalStore, week: dict[str, str], sample_id: str) -> None:
    """Whatever a person types."""
    write_lookup(lake, published(lake, "files"))

    assert find_by_id(lake, published(lake, "files"), sample_id) is None


def test_a_replay_reads_three_objects_whatever_the_number_of_partitions(
    landing: LocalStore, lake: LocalStore, week: dict[str, str]
) -> None:
    """One file of the merged index, the manifest and the shard; without it, every day's manifest and index."""
    release, (last, *_) = published(lake, "files"), ids_of(lake, DAYS[-1])
    without, with_it = Reads(lake), Reads(lake)
    wanted, nothing = Wanted(sample_id=last), declared()

    asked = replay(release, wanted, nothing, lake=without, source=landing)
    write_lookup(lake, release)
    found = replay(release, wanted, nothing, lake=with_it, source=landing)

    assert (found.found, found.verdict) == (asked.found, asked.verdict)
    assert without.rooms.count("manifests") == len(DAYS)
    assert with_it.rooms == ["lookup", "manifests", "shards"]


def test_what_nobody_has_is_answered_without_asking_a_partition(lake: LocalStore, week: dict[str, str]) -> None:
    """Every partition is covered: the merged index is enough."""
    write_lookup(lake, published(lake, "files"))
    reads = Reads(lake)

    assert find_by_id(reads, published(lake, "files"), "8" * 32) is None
    assert reads.rooms == ["lookup"]


def test_a_partition_that_changed_since_is_asked_itself(landing: LocalStore, lake: LocalStore, week: dict[str, str]) -> None:
    """The others are not; a sample that is gone from it is not found where it was."""
    write_lookup(lake, published(lake, "files"))
    gone = ids_of(lake, DAYS[2])[6]
    landing.delete("in/2013/01/03/6")
    land(landing, {"new": b"new"}, "2013/01/03")
    compact(landing, lake, FILES, DAYS[2])
    release, new = published(lake, "files"), ids_of(lake, DAYS[2])[-1]
    reads = Reads(lake)

    found = find_sample(reads, release, Wanted(sample_id=new))

    assert (found.manifest.partition, found.where) == (DAYS[2], own(lake, DAYS[2], new))
    assert reads.rooms.count("manifests") == 1
    with pytest.raises(LookupError, match="no such sample"):
        find_sample(lake, release, Wanted(sample_id=gone))


EVENTS = st.lists(
    st.tuples(st.sampled_from(["land", "land", "drop", "index"]), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=9
)


@given(EVENTS)
@settings(max_examples=10, deadline=None)
def test_whenever_it_was_made_it_finds_what_asking_everyone_finds(events: list[tuple[str, int, int]]) -> None:
    """Objects come and go on three days, the index is made in between or never; every ID there ever was is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        landing, lake = LocalStore(Path(folder) / "landing"), LocalStore(Path(folder) / "lake")
        land(landing, {"0": b"first"})
        compact(landing, lake)
        for what, day, name in events:
            if what == "index":
                write_lookup(lake, published(lake, "files"))
                continue
            key = f"in/{DAYS[day].replace('-', '/')}/{name}"
            landing.delete(key)
            if what == "land":
                landing.put_new(key, b"%d" % name)
            compact(landing, lake, FILES, DAYS[day])
        release = published(lake, "files")

        for day, name in itertools.product(DAYS[:3], range(4)):
            sample_id = position_ids(f"in/{day.replace('-', '/')}/{name}", 1)[0]
            asked = own(lake, day, sample_id) if day in release.partitions else None
            found = find_by_id(lake, release, sample_id)
            assert (None if found is None else (found.manifest.partition, found.where)) == (asked and (day, asked))


def test_made_again_it_covers_the_new_and_leaves_no_old_file(landing: LocalStore, lake: LocalStore, week: dict[str, str]) -> None:
    """What is covered already is not read again; what an earlier format left goes."""
    first = write_lookup(lake, published(lake, "files"))
    reads = Reads(lake)
    assert write_lookup(reads, published(lake, "files")) == first
    assert set(reads.rooms) == {"lookup"}
    land(landing, {"late": b"late"}, "2013/01/01")
    compact(landing, lake, FILES, DAYS[0])
    lake.put_new("files/lookup/lookup.json", b"{}")

    second = write_lookup(lake, published(lake, "files"))

    assert sum(one.rows for one in second) == 43
    assert [info.key for info in lake.list("files/lookup/")] == [layout.lookup("files", digit) for digit in DIGITS]


def test_a_run_that_was_killed_midway_is_completed(landing: LocalStore, lake: LocalStore, week: dict[str, str]) -> None:
    """Each file says what it covers, so old ones beside new ones are right, and the next run sees that they are old."""
    write_lookup(lake, published(lake, "files"))
    old = {digit: lake.get(layout.lookup("files", digit)).data for digit in DIGITS[8:]}
    land(landing, {f"late {number}": b"%d" % number for number in range(30)}, "2013/01/01")
    compact(landing, lake, FILES, DAYS[0])
    release = published(lake, "files")
    made = write_lookup(lake, release)
    for digit, data in old.items():
        overwrite(lake, layout.lookup("files", digit), data)

    found = [find_by_id(lake, release, sample_id) for sample_id in ids_of(lake, DAYS[0])]

    assert [one.manifest.partition for one in found if one is not None] == [DAYS[0]] * 37
    assert write_lookup(lake, release) == made


def test_a_file_that_is_gone_is_no_obstacle(lake: LocalStore, week: dict[str, str]) -> None:
    """The partitions are asked."""
    write_lookup(lake, published(lake, "files"))
    sample_id = min(week)
    lake.delete(layout.lookup("files", sample_id[0]))

    assert find_sample(lake, published(lake, "files"), Wanted(sample_id=sample_id)).manifest.partition == week[sample_id]


def test_a_file_that_is_replaced_while_it_is_read_is_no_obstacle(lake: LocalStore, week: dict[str, str]) -> None:
    """Half of the one and half of the other would be no index: the partitions are asked."""
    write_lookup(lake, published(lake, "files"))
    sample_id = min(week)
    key = layout.lookup("files", sample_id[0])

    class Replacing(Reads):
        def get_range(self, key: str, *where: int, **kwargs: Any) -> bytes:
            if "/lookup/" in key:
                overwrite(lake, key, lake.get(key).data)
            return super().get_range(key, *where, **kwargs)

    store = Replacing(lake)

    found = find_by_id(store, published(lake, "files"), sample_id)

    assert found is not None
    assert (found.manifest.partition, found.where) == (week[sample_id], own(lake, week[sample_id], sample_id))
    assert key in store.objects


def test_a_sample_that_failed_is_still_found(
    project: Project, landing: LocalStore, lake: LocalStore, week: dict[str, str]
) -> None:
    """It stands in the merged index without a place; without that, the manifests name it."""
    project.write(steps="def f(payload):\n    if payload.endswith(b'3'):\n        raise ValueError\n    return {'text': ''}\n")
    made = transform(step(), max_failed_share=0.5)
    for day in DAYS:
        run(made, lake, day=day)
    failed, release = ids_of(lake, DAYS[4])[3], published(lake, "made")
    asked = find_sample(lake, release, Wanted(sample_id=failed))
    write_lookup(lake, release)
    reads = Reads(lake)

    found = find_sample(reads, release, Wanted(sample_id=failed))

    assert found == asked
    assert (found.manifest.partition, found.where) == (DAYS[4], None)
    assert reads.rooms == ["lookup", "manifests"]
    assert find_sample(lake, published(lake, "made"), Wanted(source_key="in/2013/01/02/5")).manifest.partition == DAYS[1]


def test_an_id_in_two_partitions_is_refused(landing: LocalStore, lake: LocalStore) -> None:
    """A key that does not name a sample for ever: each day is right by itself, the release is not."""
    table = Dataset(
        name="files",
        source=Source(prefix="in/%Y/%m/%d/", format=Csv(columns=columns(n="int64"))),
        timezone="UTC",
        start=FILES.start,
        key=("n",),
    )
    for day in DAYS[:2]:
        land(landing, {"t.csv": b"n\n5\n"}, day.replace("-", "/"))
        compact(landing, lake, table, day)

    with pytest.raises(SampleIdRepeated, match="files release 2"):
        write_lookup(lake, published(lake, "files"))


class LastChanged(LocalStore):
    """A source whose one object, with the same bytes and ETag, says it was last changed on that day."""

    def __init__(self, landing: LocalStore, day: str) -> None:
        super().__init__(Path(landing.uri.removeprefix("file://")))
        self._noon = datetime.fromisoformat(f"{day}T12:00+00:00")

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return (replace(info, modified=self._noon) for info in super().list(prefix))


MOVING = replace(FILES, source=Source(prefix="in/", format=RawBytes(), partition_by="modified"), max_quarantine_share=1.0)


def test_an_object_refused_on_two_days_stands_for_the_later(landing: LocalStore, lake: LocalStore) -> None:
    """Written again as it was, it is listed under another day; the old day was not run since."""
    table = replace(MOVING, source=replace(MOVING.source, format=Csv(columns=columns(n="int64"))))
    land(landing, {"moved": b"n\nno number\n"})
    for day in DAYS[:2]:
        (refused,) = compact(LastChanged(landing, day), lake, table, day).facts["quarantined"]
    release = published(lake, "files")
    asked = find_by_id(lake, release, refused["record"])

    write_lookup(lake, release)

    assert asked is not None
    assert (asked.manifest.partition, asked.where) == (DAYS[1], None)
    assert find_by_id(lake, release, refused["record"]) == asked
    assert compact(LastChanged(landing, DAYS[0]), lake, table, DAYS[1]).counts.listed == 0
    moved_back = find_by_id(lake, published(lake, "files"), refused["record"])
    assert moved_back is not None
    assert moved_back.manifest.partition == DAYS[0]


def test_a_sample_that_failed_on_one_day_and_not_on_another_is_found_where_it_stands(
    project: Project, landing: LocalStore, lake: LocalStore
) -> None:
    """The failure of the old day says nothing of the sample any more, also where that day is the later."""
    fails, works = "def f(payload):\n    raise ValueError\n", "def f(payload):\n    return {'text': 'fine'}\n"
    land(landing, {"moved": b"the same"})
    for day, code in zip(DAYS, (works, fails), strict=False):
        compact(LastChanged(landing, day), lake, MOVING, day)
        project.write(steps=code)
        run(transform(step(), max_failed_share=1.0), lake, day=day)
    release, sample_id = published(lake, "made"), position_ids("in/2013/01/01/moved", 1)[0]
    asked = find_by_id(lake, release, sample_id)

    write_lookup(lake, release)

    assert asked is not None
    assert asked.manifest.partition == DAYS[0]
    assert asked.where is not None
    assert find_by_id(lake, release, sample_id) == asked


def test_an_object_read_on_two_days_is_refused_naming_both(landing: LocalStore, lake: LocalStore) -> None:
    """One sample stands in one shard. The old day, run again, lists the object no more."""
    land(landing, {"moved": b"the same"})
    for day in DAYS[:2]:
        compact(LastChanged(landing, day), lake, MOVING, day)

    with pytest.raises(SampleIdRepeated, match=r"in 2013-01-01 and 2013-01-02.*run its old day again"):
        write_lookup(lake, published(lake, "files"))
    compact(LastChanged(landing, DAYS[1]), lake, MOVING, DAYS[0])
    assert sum(one.rows for one in write_lookup(lake, published(lake, "files"))) == 1


def test_it_matches_its_schema_and_a_newer_one_is_refused(lake: LocalStore, week: dict[str, str], tmp_path: Path) -> None:
    """By its number, with what to do."""
    write_lookup(lake, published(lake, "files"))
    key = layout.lookup("files", "0")
    rows = pq.read_table(pa.BufferReader(lake.get(key).data))
    stored = json.loads(rows.schema.metadata[METADATA_KEY])
    schema = json.loads(resources.files("headrace.manifests").joinpath("schemas/lookup.schema.json").read_text())

    jsonschema.Draft202012Validator(schema).validate(stored)
    newer = json.dumps({**stored, "format": 3})
    write_parquet(tmp_path / "newer", rows.replace_schema_metadata({METADATA_KEY: newer}), ParquetStyle())
    lake.put_file(key, tmp_path / "newer")
    with pytest.raises(DocumentRefused, match="found format 3; expected a merged index of format 2"):
        look_up(lake, "files", "0" * 32)


def test_gc_leaves_it_alone(lake: LocalStore, week: dict[str, str]) -> None:
    """A room it does not know."""
    write_lookup(lake, published(lake, "files"))
    grace = timedelta(0)

    collect(lake, find_garbage(lake, "files", grace=grace, keep_releases=1), grace=grace, keep_releases=1)

    answers = [look_up(lake, "files", sample_id) for sample_id in week]
    assert [None if one is None else one.partition for one in answers] == list(week.values())
