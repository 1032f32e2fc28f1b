"""A day of raw samples in a lake, and transforms of it made of functions a test wrote."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any

import pyarrow as pa
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_groups
from headrace.shards.plan import batches
from headrace.shards.read import read_partition
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
from headrace.spec.load import Declarations
from headrace.spec.transform import Step, Transform
from headrace.transforms.run import run_transform

DAY = "2013-01-01"
RUN = RunIdentity(dag="d", run_id="r", kind="manual", partition_key=DAY)
FILES = Dataset(
    name="files",
    source=Source(prefix="in/%Y/%m/%d/", format=RawBytes()),
    timezone="UTC",
    start=date(2013, 1, 1),
    shard_bytes=1_000_000,
    row_group_bytes=100_000,
    may_be_empty=True,
)


def land(landing: LocalStore, objects: dict[str, bytes], day: str = "2013/01/01") -> None:
    """Put objects where `FILES` looks; one that is there is replaced."""
    for name, data in objects.items():
        landing.delete(f"in/{day}/{name}")
        landing.put_new(f"in/{day}/{name}", data)


def compact(landing: LocalStore, lake: LocalStore, dataset: Dataset = FILES, day: str = DAY) -> Manifest:
    """One partition of source objects to a release."""
    plan = plan_partition(dataset, day, source=landing, lake=lake)
    for batch in batches(plan):
        list(write_groups(dataset, plan, batch, source=landing, lake=lake))
    return publish_partition(dataset, plan, RUN, lake=lake).manifest


def step(name: str = "f", **kwargs: Any) -> Step:
    """A step of bytes that gives a text, unless told otherwise."""
    given: dict[str, Any] = {"version": "1", "function": f"steps:{name}", "kind": "bytes", "columns": columns(text="string")}
    return Step(name=name, **{**given, **kwargs})


def transform(*steps: Step, **kwargs: Any) -> Transform:
    given: dict[str, Any] = {"name": "made", "dataset": "files", "shard_bytes": 1_000_000, "row_group_bytes": 100_000}
    return Transform(steps=steps, **{**given, **kwargs})


def run(made: Transform, lake: LocalStore, cores: int = 1, day: str = DAY) -> Manifest:
    return run_transform(made, day, RUN, lake=lake, cores=cores).manifest


def rows(lake: LocalStore, manifest: Manifest) -> list[dict[str, Any]]:
    return read_partition(lake, manifest).to_pylist()


def table(lake: LocalStore, manifest: Manifest) -> pa.Table:
    return read_partition(lake, manifest)


def declared(*transforms: Transform, datasets: tuple[Dataset, ...] = (FILES,)) -> Declarations:
    return Declarations(datasets=datasets, transforms=transforms, views=(), training_sets=(), failures={})


def names(manifest_rows: list[dict[str, Any]]) -> list[str]:
    """The object names in order, repeats once."""
    keys = (row["source_key"].rpartition("/")[2] for row in manifest_rows)
    return [key for key, _ in itertools.groupby(keys)]
