"""How many bytes will be written per source byte, measured on a few objects, so that shards of text come out at the target size too.

The objects are those whose keys hash lowest: the same ones whenever they are listed, so the figure is a function of the inventory. It is
rounded to steps of 2 %, so that one changed object hardly ever moves it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from headrace.lake.store import ObjectInfo, Store, View
from headrace.shards.plan import rank
from headrace.shards.rows import SampleRows, rows_schema, style_of
from headrace.shards.workspace import workspace
from headrace.shards.write import ShardWriter
from headrace.sources.decode import Decoded, decode
from headrace.sources.errors import ObjectRefused
from headrace.sources.inventory import SourceObject, total_bytes
from headrace.spec.dataset import HARD_CAP_BYTES, MB, Dataset
from headrace.spec.formats import RawBytes

SAMPLE_OBJECTS: Final = 24
SAMPLE_BYTES: Final = 32 * MB
_STEP: Final = math.log(1.02)
_SAME_SIZE: Final = {(), ("tar",)}


def measure_density(dataset: Dataset, source: Store, objects: tuple[SourceObject, ...], samples: pa.Schema) -> float:
    """Written bytes per source byte, above 0; 1 where nothing is packed, and where one shard holds the partition anyway."""
    form = dataset.source.format
    as_they_are = isinstance(form, RawBytes) and not form.compress and dataset.source.unpack in _SAME_SIZE
    if as_they_are or total_bytes(objects) <= dataset.shard_bytes // 2:
        return 1.0
    read, written = _trial(dataset, source, _some(objects), samples)
    return 1.0 if read == 0 or written == 0 else rounded(written / read)


def rounded(density: float) -> float:
    """To the nearest step of 2 %."""
    return round(math.exp(round(math.log(density) / _STEP) * _STEP), 6)


def _some(objects: tuple[SourceObject, ...]) -> list[SourceObject]:
    chosen: list[SourceObject] = []
    for one in heapq.nsmallest(SAMPLE_OBJECTS, objects, key=lambda item: rank(item.key)):
        if not chosen or total_bytes(chosen) + one.size_bytes <= SAMPLE_BYTES:
            chosen.append(one)
    return chosen


def _trial(dataset: Dataset, source: Store, chosen: list[SourceObject], samples: pa.Schema) -> tuple[int, int]:
    """Source bytes of the objects that decode, and the bytes of one shard with their rows."""
    read = 0
    limits = {"limit_bytes": HARD_CAP_BYTES, "row_group_bytes": dataset.row_group_bytes}
    rows, schema = SampleRows(dataset, samples), rows_schema(dataset, samples)
    with workspace() as folder, ShardWriter(folder, schema, style_of(dataset), **limits) as writer:
        for one, decoded in _decoded(dataset, source, chosen, samples):
            read += one.size_bytes
            for table in rows.add(one, decoded):
                writer.add(table)
        for table in rows.finish():
            writer.add(table)
        return read, sum(shard.size_bytes for shard in writer.finish())


def _decoded(
    dataset: Dataset, source: Store, chosen: list[SourceObject], samples: pa.Schema
) -> Iterator[tuple[SourceObject, Decoded]]:
    nobody_asks = datetime.fromtimestamp(0, tz=UTC)
    wanted = [ObjectInfo(key=one.key, size_bytes=one.size_bytes, etag=one.etag, modified=nobody_asks) for one in chosen]
    for one, answer in zip(chosen, source.get_many(wanted), strict=True):
        if isinstance(answer.body, View):  # what cannot be read is dealt with when it is written
            try:
                yield one, decode(one.key, answer.body.data, dataset.source, samples)
            except ObjectRefused:
                continue
