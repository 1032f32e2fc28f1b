"""The columns of an input partition: read from its first shard, told by its manifest where it has none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.ranged import RangedFile
from headrace.lake.store import Store
from headrace.manifests.manifest import Manifest
from headrace.shards.schema import empty_table


def input_schema(lake: Store, given: Manifest) -> pa.Schema:
    """The schema of the partition's shards. Reads one footer."""
    if not given.shards:
        return empty_table(given.schema, None).schema
    first = given.shards[0]
    file = RangedFile(lake, layout.shard(given.dataset, first.sha256), size_bytes=first.size_bytes)
    return pq.read_schema(pa.PythonFile(file, mode="r"))
