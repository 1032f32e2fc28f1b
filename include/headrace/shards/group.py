"""Groups of a plan: read their objects, write their shards, leave a result in the lake.

A killed run's next try redoes only the groups without a result, and so does a later run that sees the same objects. An object that
changed between listing and reading is read again from a fresh listing of itself; one that vanished or does not decode is quarantined
with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.lake.errors import ObjectChanged, ObjectMissing
from headrace.lake.store import Buffer, Fetched, ObjectInfo, Store, View
from headrace.manifests.manifest import ShardEntry
from headrace.shards.group_result import GroupResult, find_result, lost_objects, store_result
from headrace.shards.plan import Plan, writer_limit
from headrace.shards.rows import SampleRows, rows_schema, style_of
from headrace.shards.schema import schema_from_hex
from headrace.shards.upload import index_rows, upload_part, upload_shard
from headrace.shards.workspace import workspace
from headrace.shards.write import FinishedShard, ShardWriter
from headrace.sources.decode import decode
from headrace.sources.errors import ObjectRefused
from headrace.sources.inventory import SourceObject
from headrace.sources.quarantine import Quarantined, keep, quarantined
from headrace.spec.dataset import Dataset

FRESH_LISTINGS: Final = 3
GROUPS_AT_ONCE: Final = 2
VANISHED: Final = "vanished"


def write_groups(dataset: Dataset, plan: Plan, groups: Sequence[int], *, source: Store, lake: Store) -> list[GroupResult]:
    """Write one task's groups, two at a time, so that one uploads while the other reads."""
    with ThreadPoolExecutor(GROUPS_AT_ONCE, thread_name_prefix="headrace-group") as pool:
        return list(pool.map(lambda group: write_group(dataset, plan, group, source=source, lake=lake), groups))


def write_group(dataset: Dataset, plan: Plan, group: int, *, source: Store, lake: Store) -> GroupResult:
    """Write one group's shards, or return what an earlier try left."""
    earlier = find_result(lake, plan, group)
    if earlier is not None and not lost_objects(lake, dataset.name, earlier):
        return earlier
    with workspace() as folder:
        result = _Writing(dataset, plan, group, folder, source=source, lake=lake).run()
    store_result(lake, plan, group, result)
    return result


class _Writing:
    """One group under way."""

    def __init__(self, dataset: Dataset, plan: Plan, group: int, folder: Path, *, source: Store, lake: Store) -> None:
        samples = schema_from_hex(plan.measured.schema)
        self._dataset, self._plan, self._folder = dataset, plan, folder
        self._objects = plan.objects_of(group)
        self._source, self._lake, self._samples = source, lake, samples
        self._rows = SampleRows(dataset, samples)
        self._writer = ShardWriter(
            folder,
            rows_schema(dataset, samples),
            style_of(dataset),
            limit_bytes=writer_limit(dataset, self._objects, plan.measured),
            row_group_bytes=dataset.row_group_bytes,
        )
        self._shards: list[ShardEntry] = []
        self._index: list[pa.Table] = []
        self._refused: list[Quarantined] = []
        self._members_skipped: Counter[str] = Counter()

    def run(self) -> GroupResult:
        seen = []
        with self._writer:
            for answer in _read(self._source, self._objects):
                info = answer.wanted
                current = SourceObject(key=info.key, size_bytes=info.size_bytes, etag=info.etag)
                seen.append(current)
                self._take(current, answer)
            self._write(self._rows.finish())
            self._upload(self._writer.finish())
        planned = tuple(seen) == self._objects and all(item.reason != VANISHED for item in self._refused)
        return GroupResult(
            shards=tuple(self._shards),
            part=upload_part(self._lake, self._dataset.name, self._index, self._folder),
            quarantined=tuple(self._refused),
            samples=sum(shard.rows for shard in self._shards),
            members_skipped=dict(sorted(self._members_skipped.items())),
            seen=None if planned else tuple(seen),
        )

    def _take(self, current: SourceObject, answer: Fetched) -> None:
        if isinstance(answer.body, ObjectMissing):
            self._refuse(current, _vanished(current.key), None)
        elif isinstance(answer.body, HeadraceError):
            raise answer.body  # the store's trouble or ours, not the object's
        else:
            try:
                decoded = decode(current.key, answer.body.data, self._dataset.source, self._samples)
            except ObjectRefused as error:
                self._refuse(current, error, answer.body.data)
                return
            self._members_skipped.update(decoded.members_skipped)
            self._write(self._rows.add(current, decoded))

    def _refuse(self, current: SourceObject, error: HeadraceError, data: Buffer | None) -> None:
        item = quarantined(current, error)
        keep(self._lake, self._dataset.name, self._plan.partition, item, data)
        self._refused.append(item)

    def _write(self, tables: list[pa.Table]) -> None:
        for table in tables:
            self._upload(self._writer.add(table))

    def _upload(self, finished: list[FinishedShard]) -> None:
        for shard in finished:
            self._shards.append(upload_shard(self._lake, self._dataset.name, shard))
            self._index.append(index_rows(shard))


def _read(source: Store, objects: tuple[SourceObject, ...]) -> Iterator[Fetched]:
    """The objects in order; a changed one is read again from a fresh listing of itself."""
    for answer in source.get_many([_info(item) for item in objects]):
        yield _fresh(source, answer.wanted.key, answer) if isinstance(answer.body, ObjectChanged) else answer


def _fresh(source: Store, key: str, answer: Fetched) -> Fetched:
    for _ in range(FRESH_LISTINGS):
        current = source.head(key)
        if current is None:
            return replace(answer, body=_missing(key))
        try:
            body = source.get(key, etag=current.etag)
        except ObjectChanged as error:
            answer = Fetched(wanted=current, body=error)
        except ObjectMissing as error:
            return replace(answer, body=error)
        else:
            return Fetched(wanted=current, body=View(data=body.data, etag=body.etag))
    return answer


def _missing(key: str) -> ObjectMissing:
    return ObjectMissing(key, found="no object", expected="the object that was listed", remedy="Land it again.")


def _vanished(key: str) -> ObjectRefused:
    return ObjectRefused(
        key,
        kind=VANISHED,
        found="no object",
        expected="the object that was listed",
        remedy="Land it again, or run the partition again without it.",
    )


def _info(item: SourceObject) -> ObjectInfo:
    return ObjectInfo(key=item.key, size_bytes=item.size_bytes, etag=item.etag, modified=datetime.fromtimestamp(0, tz=UTC))
