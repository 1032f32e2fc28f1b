"""The rows on the way to one sample: from the landed one on, through each transform that made one row of another."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import read_manifest
from headrace.shards.index import locate
from headrace.shards.read import read_sample
from headrace.transforms.errors import NotReplayable


@dataclass(frozen=True, kw_only=True)
class Stand:
    """One row on the way and the partition it stands in; `row` is None for one that failed, or that is not there."""

    manifest: Manifest
    sample_id: str
    row: pa.Table | None


def way_to(last: Stand, lake: Store) -> list[Stand]:
    """The rows from the landed sample to this one.

    Raises:
        NotReplayable: it is computed from many samples.
    """
    stands = [last]
    while "transform" in stands[0].manifest.facts:
        stands.insert(0, _before(stands[0], lake))
    first = stands[0].manifest
    if "snapshot" in first.facts or "training" in first.facts:
        raise NotReplayable(
            f"{last.manifest.dataset} sample {last.sample_id}",
            found="a row that is computed from many samples",
            expected="a sample that comes from one source object",
            remedy="Its manifest names what it was computed from: `headrace show`.",
        )
    return stands


def _before(stand: Stand, lake: Store) -> Stand:
    """The row a row was made of."""
    given = stand.manifest.facts["transform"]["input"]
    manifest = read_manifest(lake, given["dataset"], given["partition"], given["manifest"])
    parent = stand.sample_id
    if stand.row is not None and "parent_id" in stand.row.schema.names:
        parent = str(stand.row.column("parent_id")[0])
    where = locate(lake, manifest, parent)
    row = None if where is None else read_sample(lake, manifest, where)
    return Stand(manifest=manifest, sample_id=parent, row=row)
