"""The index over all partitions: what it finds is what the partitions' own indexes say, and what it does not cover is asked of them."""

from __future__ import annotations

import json
from datetime import timedelta
from importlib import resources
from typing import Any

import jsonschema
import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.gc import collect, find_garbage
from headrace.manifests.read import manifest_of, published
from headrace.shards import index as index_module
from headrace.shards.errors import SampleIdRepeated
from headrace.shards.index import Location, locate
from headrace.shards.lookup import look_up, read_lookup, write_lookup
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv
from headrace.transforms.replay.find import Wanted, find_sample

from tests.headrace.transforms.build import FILES, compact, land, run, step, transform
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
    monkeypatch.setattr(index_module, "FILE_ROWS", 10)

    made = write_lookup(lake, published(lake, "files"))

    assert (made.rows, len(made.files), read_lookup(lake, "files")) == (42, 5, made)
    assert {one: look_up(lake, made, one) for one in week} == {one: (day, own(lake, day, one)) for one, day in week.items()}
    assert look_up(lake, made, "8" * 32) is None


def test_reads_do_not_grow_with_the_partitions(lake: LocalStore, week: dict[str, str]) -> None:
    """Finding one of six days: two objects of the merged index and one manifest; without it, two objects a day."""
    release, (last, *_) = published(lake, "files"), ids_of(lake, DAYS[-1])
    without, with_it = Reads(lake), Reads(lake)

    asked = find_sample(without, release, Wanted(sample_id=last))
    write_lookup(lake, release)
    found = find_sample(with_it, release, Wanted(sample_id=last))

    assert found == asked
    assert len(without.objects) >= 2 * len(DAYS)
    assert with_it.rooms == ["lookup", "lookup", "manifests"]


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


def test_made_again_it_covers_the_new_and_leaves_no_old_file(landing: LocalStore, lake: LocalStore, week: dict[str, str]) -> None:
    """What is covered already is not read again."""
    first = write_lookup(lake, published(lake, "files"))
    reads = Reads(lake)
    assert write_lookup(reads, published(lake, "files")) == first
    assert reads.rooms == ["lookup"]
    land(landing, {"late": b"late"}, "2013/01/01")
    compact(landing, lake, FILES, DAYS[0])

    second = write_lookup(lake, published(lake, "files"))

    assert second.rows == 43
    kept = {info.key for info in lake.list("files/lookup/")}
    assert kept == {layout.lookup("files"), *(layout.lookup_file("files", entry.sha256) for entry in second.files)}


def test_a_file_that_is_gone_is_no_obstacle(lake: LocalStore, week: dict[str, str]) -> None:
    """A reader may hold an older description: the partitions are asked."""
    made = write_lookup(lake, published(lake, "files"))
    lake.delete(layout.lookup_file("files", made.files[0].sha256))
    sample_id = min(week)

    assert find_sample(lake, published(lake, "files"), Wanted(sample_id=sample_id)).manifest.partition == week[sample_id]


def test_a_sample_that_failed_is_still_found(
    project: Project, landing: LocalStore, lake: LocalStore, week: dict[str, str]
) -> None:
    """It stands in no index: its manifest names it."""
    project.write(steps="def f(payload):\n    if payload.endswith(b'3'):\n        raise ValueError\n    return {'text': ''}\n")
    made = transform(step(), max_failed_share=0.5)
    for day in DAYS:
        run(made, lake, day=day)
    write_lookup(lake, published(lake, "made"))
    failed = ids_of(lake, DAYS[4])[3]

    found = find_sample(lake, published(lake, "made"), Wanted(sample_id=failed))

    assert (found.manifest.partition, found.where) == (DAYS[4], None)
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


def test_it_matches_its_schema_and_a_newer_one_is_refused(lake: LocalStore, week: dict[str, str]) -> None:
    """By its number, with what to do."""
    write_lookup(lake, published(lake, "files"))
    stored = json.loads(lake.get(layout.lookup("files")).data)
    schema = json.loads(resources.files("headrace.manifests").joinpath("schemas/lookup.schema.json").read_text())

    jsonschema.Draft202012Validator(schema).validate(stored)
    lake.delete(layout.lookup("files"))
    lake.put_new(layout.lookup("files"), json.dumps({**stored, "format": 2}).encode())
    with pytest.raises(DocumentRefused, match="found format 2; expected a merged index of format 1"):
        read_lookup(lake, "files")


def test_gc_leaves_it_alone(lake: LocalStore, week: dict[str, str]) -> None:
    """A room it does not know."""
    made = write_lookup(lake, published(lake, "files"))
    grace = timedelta(0)

    collect(lake, find_garbage(lake, "files", grace=grace, keep_releases=1), grace=grace, keep_releases=1)

    sample_id = min(week)
    assert look_up(lake, made, sample_id) == (week[sample_id], own(lake, week[sample_id], sample_id))
