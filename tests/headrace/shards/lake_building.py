"""Small partitions published in a test's lake, in one call."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any

from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import Published, plan_partition, publish_partition
from headrace.shards.group import write_groups
from headrace.shards.plan import batches
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv, Format, RawBytes

DAY = "2013-01-01"


def raw_dataset(**fields: Any) -> Dataset:
    """Raw objects, shards of 1 MB, row groups of 200 kB."""
    return make_dataset(RawBytes(), **{"shard_bytes": 1_000_000, "row_group_bytes": 200_000, **fields})


def csv_dataset(**fields: Any) -> Dataset:
    """CSV objects with the columns n (int64) and name (string)."""
    return make_dataset(Csv(columns=columns(n="int64", name="string")), **fields)


def make_dataset(form: Format, *, source: dict[str, Any] | None = None, **fields: Any) -> Dataset:
    where = {"prefix": "in/%Y/%m/%d/", "format": form, **(source or {})}
    return Dataset(name="d", source=Source(**where), timezone="UTC", start=date(2013, 1, 1), **fields)


def identity(partition: str = DAY) -> RunIdentity:
    return RunIdentity(dag="d.compact", run_id="r", kind="manual", partition_key=partition)


def land(landing: Store, objects: dict[str, bytes], day: str = DAY) -> None:
    """Land objects, or land them again."""
    for name, data in objects.items():
        key = f"in/{day.replace('-', '/')}/{name}"
        try:
            etag = landing.get(key).etag
        except ObjectMissing:
            etag = None
        landing.swap(key, data, expected=etag)


def run(dataset: Dataset, landing: Store, lake: Store, partition: str = DAY) -> Published:
    """Plan, write, publish."""
    plan = plan_partition(dataset, partition, source=landing, lake=lake)
    for group in itertools.chain(*batches(plan)):
        write_groups(dataset, plan, [group], source=landing, lake=lake)
    return publish_partition(dataset, plan, identity(partition), lake=lake)
