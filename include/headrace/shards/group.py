"""One group of a plan: read its objects, write its shards, leave a result in the lake.

The result lies beside the plan, so a killed run's next try redoes only the groups without one. An object that changed between listing
and reading is read again from a fresh listing of itself; one that vanished or does not decode is quarantined with its reason.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from headrace.errors import HeadraceError, RetryableError
from headrace.lake import layout
from headrace.lake.errors import ObjectChanged, ObjectMissing
from headrace.lake.store import Body, Fetched, ObjectInfo, Store
from headrace.manifests.manifest import IndexEntry, ShardEntry
from headrace.shards.parquet import ParquetStyle
from headrace.shards.plan import Plan
from headrace.shards.samples import shard_schema, with_identity
from headrace.shards.upload import Uploaded, upload_index, upload_shard
from headrace.shards.write import FinishedShard, ShardWriter
from headrace.sources.decode import decode, sample_schema
from headrace.sources.errors import ObjectRefused
from headrace.sources.inventory import SourceObject
from headrace.sources.quarantine import Quarantined, quarantined
from headrace.spec.canonical import canonical_json
from headrace.spec.dataset import Dataset
from headrace.spec.formats import RawBytes

FRESH_LISTINGS: Final = 3


@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """What became of one group. `seen` are the objects as they were read, which is what the manifest is a function of."""

    shards: tuple[ShardEntry, ...]
    index: tuple[IndexEntry, ...]
    seen: tuple[SourceObject, ...]
    quarantined: tuple[Quarantined, ...]
    samples: int


def write_group(dataset: Dataset, plan: Plan, group: int, *, source: Store, lake: Store) -> GroupResult:
    """Write one group's shards, or return what an earlier try left."""
    key = layout.group_result(dataset.name, plan.partition, plan.digest, group)
    earlier = _earlier(lake, key, dataset.name)
    if earlier is not None:
        return earlier
    with tempfile.TemporaryDirectory(prefix="headrace-") as folder:
        result = _write(dataset, plan.objects_of(group), Path(folder), source=source, lake=lake)
    lake.delete(key)
    lake.put_new(key, canonical_json(_plain(result)))
    return result


def read_group_result(lake: Store, dataset: str, partition: str, plan_digest: str, group: int) -> GroupResult:
    """What a writer left. Raises `ObjectMissing` when the group was not written."""
    return _from_bytes(lake.get(layout.group_result(dataset, partition, plan_digest, group)).data)


def _write(dataset: Dataset, objects: tuple[SourceObject, ...], folder: Path, *, source: Store, lake: Store) -> GroupResult:
    form = dataset.source.format
    style = ParquetStyle(compress=form.compress if isinstance(form, RawBytes) else True)
    writer = ShardWriter(
        folder,
        shard_schema(sample_schema(form)),
        style,
        shard_bytes=dataset.shard_bytes,
        row_group_bytes=dataset.row_group_bytes,
    )
    seen: list[SourceObject] = []
    refused: list[Quarantined] = []
    shards: list[ShardEntry] = []
    index: list[tuple[str, pa.Table]] = []

    def upload(finished: list[FinishedShard]) -> None:
        for shard in finished:
            shards.append(upload_shard(lake, dataset.name, shard))
            index.append((shard.sha256, shard.index))

    for answer in _read(source, objects):
        current, rows = _samples(dataset, answer)
        seen.append(current)
        if isinstance(rows, HeadraceError):
            refused.append(quarantined(current, rows))
        else:
            upload(writer.add(rows))
    upload(writer.finish())
    written = Uploaded(shards=tuple(shards), index=upload_index(lake, dataset.name, index, folder))
    return GroupResult(
        shards=written.shards,
        index=written.index,
        seen=tuple(seen),
        quarantined=tuple(refused),
        samples=sum(shard.rows for shard in shards),
    )


def _read(source: Store, objects: tuple[SourceObject, ...]) -> Iterator[Fetched]:
    """The objects in order; a changed one is read again from a fresh listing of itself."""
    wanted = [_info(item) for item in objects]
    for answer in source.get_many(wanted):
        yield _fresh(source, answer.wanted.key, answer) if isinstance(answer.body, ObjectChanged) else answer


def _fresh(source: Store, key: str, answer: Fetched) -> Fetched:
    for _ in range(FRESH_LISTINGS):
        current = source.head(key)
        if current is None:
            return replace(answer, body=_vanished(key))
        try:
            return Fetched(wanted=current, body=source.get(key, etag=current.etag))
        except ObjectChanged as error:
            answer = Fetched(wanted=current, body=error)
        except ObjectMissing:
            return replace(answer, body=_vanished(key))
    return answer


def _samples(dataset: Dataset, answer: Fetched) -> tuple[SourceObject, pa.Table | HeadraceError]:
    info = answer.wanted
    current = SourceObject(key=info.key, size_bytes=info.size_bytes, etag=info.etag)
    if isinstance(answer.body, Body):
        try:
            rows = decode(current.key, answer.body.data, dataset.source.format)
        except ObjectRefused as error:
            return current, error
        return current, with_identity(current, rows, dataset.key)
    if isinstance(answer.body, ObjectMissing):
        return current, _vanished(current.key)
    if isinstance(answer.body, RetryableError):
        raise answer.body
    return current, answer.body


def _vanished(key: str) -> ObjectRefused:
    return ObjectRefused(
        key,
        kind="vanished",
        found="no object",
        expected="the object that was listed",
        remedy="Land it again, or run the partition again without it.",
    )


def _info(item: SourceObject) -> ObjectInfo:
    return ObjectInfo(key=item.key, size_bytes=item.size_bytes, etag=item.etag, modified=datetime.fromtimestamp(0, tz=UTC))


def _earlier(lake: Store, key: str, dataset: str) -> GroupResult | None:
    """An earlier try's result, if each of its shards is still there in full length."""
    try:
        result = _from_bytes(lake.get(key).data)
    except ObjectMissing:
        return None
    wanted = [(layout.shard(dataset, shard.sha256), shard.size_bytes) for shard in result.shards]
    wanted += [(layout.index(dataset, entry.sha256), entry.size_bytes) for entry in result.index]
    for path, size in wanted:
        info = lake.head(path)
        if info is None or info.size_bytes != size:
            return None
    return result


def _plain(result: GroupResult) -> dict[str, Any]:
    return asdict(result)


def _from_bytes(data: bytes) -> GroupResult:
    fields = json.loads(data)
    return GroupResult(
        shards=tuple(ShardEntry(**item) for item in fields["shards"]),
        index=tuple(IndexEntry(**item) for item in fields["index"]),
        seen=tuple(SourceObject(**item) for item in fields["seen"]),
        quarantined=tuple(Quarantined(**item) for item in fields["quarantined"]),
        samples=fields["samples"],
    )
