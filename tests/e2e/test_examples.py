"""The image and text examples in a running house, from the declarations as shipped: real files in, a transform that follows by itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Any

import pytest
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published
from headrace.shards.read import read_partition
from headrace.sources.quarantine import records
from headrace.spec.load import load_declarations
from headrace.transforms.tensors import arrays_of

from local import landing
from local.daily import find_dags, idle_files
from local.environment import BUCKET
from local.errors import ApiUnreachable
from local.house import House
from local.landing_files import DAYS, picture_objects, source_text_objects
from local.places import REPOSITORY
from tests.conftest import house_folder

pytestmark = [pytest.mark.servers, pytest.mark.timeout(900)]

DAY = "2013-01-01"
EXAMPLES = REPOSITORY / "include" / "datasets" / "examples"
FOLLOWS = {"pictures": "picture_tensors", "sources": "source_chunks"}
PICTURES, SOURCES = 30, 150
WEEK = [date(2013, 1, 1) + timedelta(days=n) for n in range(DAYS)]
BAD = {
    "pictures/2013/01/01/cut_short.png": b"\x89PNG\r\n\x1a\n and then nothing",
    "sources/2013/01/01/latin_1.py": "price = 'cinq \u00e9cus'\n".encode("latin-1"),
}


def objects() -> Iterator[landing.SourceObject]:
    """Some pictures and some sources that are installed beside us, all landed on one day, and one bad one of each."""
    whole = (one for one in picture_objects(WEEK) if "/airflow/" not in one.key)  # a third of its pictures are no pictures
    for found in (islice(whole, PICTURES), islice(source_text_objects(WEEK[:1]), SOURCES)):
        for one in found:
            prefix, _year, _month, _day, name = one.key.split("/", 4)
            yield landing.SourceObject(key=f"{prefix}/2013/01/01/{name}", content=one.content)
    yield from (landing.SourceObject(key=key, content=content) for key, content in BAD.items())


@dataclass(frozen=True, kw_only=True)
class Examples:
    """The house, its lake after both examples ran once, and the keys of what was landed."""

    house: House
    lake: Store
    landed: frozenset[str]

    def wait(self, done: Callable[[], bool], what: str, seconds: float = 300.0) -> None:
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(ApiUnreachable):  # a busy machine: asked again
                if done():
                    return
            if time.monotonic() > deadline:
                pytest.fail(f"not within {seconds:.0f} s: {what}")
            self.house.pause(1.0)

    def run(self) -> None:
        """Trigger both root DAGs; wait for them and for what follows."""
        before = {dag: len(self.runs(dag)) for dag in DAGS}
        for dataset in FOLLOWS:
            self.house.api.post(f"dags/{dataset}.compact/dagRuns", {"logical_date": None, "partition_key": DAY})

        def done() -> bool:
            new = {dag: self.runs(dag)[count:] for dag, count in before.items()}
            failed = [(dag, run["dag_run_id"]) for dag, runs in new.items() for run in runs if run["state"] == "failed"]
            if failed:
                pytest.fail(f"failed: {failed}; {self.states(failed[0][0])}")
            return all(len(runs) == 1 and runs[0]["state"] == "success" for runs in new.values())

        self.wait(done, f"one successful run of each of {', '.join(DAGS)}")

    def runs(self, dag: str) -> list[dict[str, Any]]:
        return self.house.api.all(f"dags/{dag}/dagRuns", "dag_runs", order_by="id")

    def log(self, dag: str, task: str, **index: int) -> str:
        """What a task of the newest run said."""
        path = f"dags/{dag}/dagRuns/{self.runs(dag)[-1]['dag_run_id']}/taskInstances/{task}/logs/1"
        return str(self.house.api.get(path, full_content=True, **index))

    def states(self, dag: str) -> dict[str, str]:
        """State by task of the newest run."""
        path = f"dags/{dag}/dagRuns/{self.runs(dag)[-1]['dag_run_id']}/taskInstances"
        return {one["task_id"]: one["state"] for one in self.house.api.all(path, "task_instances")}

    def manifest(self, dataset: str) -> Manifest:
        return manifest_of(self.lake, published(self.lake, dataset), DAY)


DAGS = (*(f"{name}.compact" for name in FOLLOWS), *(f"{name}.transform" for name in FOLLOWS.values()))


@pytest.fixture(scope="module")
def examples() -> Iterator[Examples]:
    """The declarations folder itself, not a copy of it."""
    with pytest.MonkeyPatch.context() as patch, house_folder() as home, House(home, declarations=EXAMPLES) as house:
        for name, value in house.environment.items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        landed = list(objects())
        landing.land(house.s3, BUCKET, "landing", landed)
        idle = idle_files(load_declarations(EXAMPLES))
        assert find_dags(house.api, REPOSITORY / "dags", house.parsing_since, house.pause, idle=idle).broken == {}
        keys = frozenset(one.key for one in landed)
        made = Examples(house=house, lake=open_store(house.environment["HEADRACE_LAKE"]), landed=keys)
        made.run()
        yield made


def test_the_transforms_follow_by_themselves_and_account_for_every_file(examples: Examples) -> None:
    """Only the roots were triggered. Each landed object is a sample, and each sample came out, was dropped, or is in quarantine."""
    for (dataset, transform), landed in zip(FOLLOWS.items(), (PICTURES + 1, SOURCES + 1), strict=True):
        given, made = examples.manifest(dataset).counts, examples.manifest(transform).counts
        assert given.listed == landed
        assert made.listed == given.samples
        for counts in (given, made):
            assert counts.read + sum(counts.skipped.values()) + sum(counts.quarantined.values()) == counts.listed


def test_pictures_are_tensors_and_sources_are_chunks(examples: Examples) -> None:
    """Normalised channels first; chunks that name the file they are of."""
    pictures = read_partition(examples.lake, examples.manifest("picture_tensors"))
    tensors = arrays_of(pictures.column("tensor"), "float32", (3, 64, 64))
    assert len(tensors) >= 0.9 * PICTURES
    assert -2.2 < tensors.min() < tensors.max() < 2.7
    chunks = read_partition(examples.lake, examples.manifest("source_chunks")).to_pylist()
    assert {row["source_key"] for row in chunks} <= examples.landed
    assert len(chunks) > SOURCES


def test_a_bad_picture_and_a_latin_1_file_are_quarantined_and_named(examples: Examples) -> None:
    """With the sample's ID, the step and the traceback."""
    found = {record.key: record for transform in FOLLOWS.values() for record in records(examples.lake, transform, DAY)}

    picture, text = (found[key] for key in BAD)
    assert (picture.reason, text.reason) == ("UnidentifiedImageError", "UnicodeDecodeError")
    assert "step decode" in picture.subject
    assert "step read" in text.subject
    assert "images.py" in picture.traceback
    assert "can't decode byte 0xe9" in text.found


def test_progress_stands_in_the_tasks_log(examples: Examples) -> None:
    """How many samples became how many, and how fast; the plan says why."""
    assert "1 of 1 shards to do; not made yet." in examples.log("picture_tensors.transform", "plan")
    said = examples.log("picture_tensors.transform", "run", map_index=0)
    assert f"Shard 1 of 1: {PICTURES + 1} samples became" in said
    assert "samples a second" in said


def test_an_unchanged_day_run_again_transforms_nothing(examples: Examples) -> None:
    """The root's event comes again and the transform follows again; no shard is transformed and no release made."""
    before = {name: (published(examples.lake, name).number, examples.manifest(name).digest) for name in FOLLOWS.values()}

    examples.run()

    for name in FOLLOWS.values():
        assert "0 of 1 shards to do; nothing changed." in examples.log(f"{name}.transform", "plan")
        assert examples.states(f"{name}.transform") == {"plan": "success", "run": "skipped", "publish": "success"}
        assert (published(examples.lake, name).number, examples.manifest(name).digest) == before[name]
