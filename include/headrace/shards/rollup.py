"""Days too small to fill a shard, rolled up into a month.

The month is a partition of a dataset of its own, `<dataset>_monthly`: the days stay where other runs wait for them, and in each release
every sample stands in exactly one shard. Rows are copied as they are, in the order of the days, with their IDs, through the writer every
shard goes through. The result is a function of the days' manifests; a later change of one day gives another month.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Final

import pyarrow as pa

from headrace.errors import FinalError
from headrace.lake.store import Store
from headrace.manifests.collecting import objects_gone
from headrace.manifests.errors import NotPublished
from headrace.manifests.manifest import Counts, Manifest, ShardEntry
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import latest, manifest_of, published
from headrace.manifests.release import Release
from headrace.manifests.run import RunIdentity
from headrace.shards.index import write_index
from headrace.shards.parquet import ParquetStyle
from headrace.shards.read import row_groups, shard_file
from headrace.shards.upload import index_rows, upload_shard
from headrace.shards.workspace import workspace
from headrace.shards.write import FinishedShard, ShardWriter
from headrace.spec.canonical import digest_of
from headrace.spec.dataset import MB

_MONTH: Final = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_DAY_LENGTH: Final = 10


class RollupRefused(FinalError, ValueError):
    """The days of a month cannot stand in one partition."""


def monthly(dataset: str) -> str:
    """The name of the dataset that holds another's months."""
    return f"{dataset}_monthly"


def lacking_days(lake: Store, dataset: str, month: str, *, first: date, last: date | None) -> list[str]:
    """The days of a month `YYYY-MM` that are not in the dataset's release yet, in order.

    Args:
        first, last: the days the dataset has, both inclusive; no last: it goes on.

    Raises:
        RollupRefused: no month.
    """
    found = latest(lake, dataset)
    there = set() if found is None else set(found.release.partitions)
    return [day for day in days_of(month, first=first, last=last) if day not in there]


def days_of(month: str, *, first: date, last: date | None) -> list[str]:
    """The days of a month `YYYY-MM` from `first` to `last`, both inclusive."""
    _check_month(month)
    day, days = date.fromisoformat(f"{month}-01"), []
    while day.isoformat().startswith(month):
        if first <= day and (last is None or day <= last):
            days.append(day.isoformat())
        day += timedelta(days=1)
    return days


def roll_up(
    lake: Store, dataset: str, month: str, run: RunIdentity, *, shard_bytes: int = 100 * MB, row_group_bytes: int = 4 * MB
) -> tuple[Manifest, Release]:
    """Write and publish one month `YYYY-MM` of the days in the dataset's release.

    What is there and unchanged is left alone; what was lost from the lake is written again.

    Raises:
        NotPublished: the release has no day of that month.
        RollupRefused: no month, or its days have different columns.
        SampleIdRepeated: two days hold one sample ID.
    """
    days = _days(lake, dataset, month)
    sizes = [shard_bytes, row_group_bytes]
    manifest = _in_use(lake, dataset, month, _inputs(days), sizes)
    if manifest is None:
        with workspace() as folder:
            manifest = _rolled(lake, month, days, sizes, folder)
    identity = run.document()
    digest = write_candidate(lake, manifest, identity)
    return manifest, promote(lake, monthly(dataset), {month: digest}, identity)


def _days(lake: Store, dataset: str, month: str) -> list[Manifest]:
    _check_month(month)
    release = published(lake, dataset)
    names = [name for name in sorted(release.partitions) if name.startswith(f"{month}-") and len(name) == _DAY_LENGTH]
    if not names:
        raise NotPublished(
            f"{dataset} release {release.number}",
            found=f"no day of {month}",
            expected="at least one",
            remedy="Run the month's days first.",
        )
    days = [manifest_of(lake, release, name) for name in names]
    for day in days:
        if day.schema != days[0].schema:
            raise RollupRefused(
                f"{dataset} {day.partition}",
                found=", ".join(f"{one.name} {one.type}" for one in day.schema),
                expected="the columns of "
                + days[0].partition
                + ": "
                + ", ".join(f"{one.name} {one.type}" for one in days[0].schema),
                remedy="Run the older days again with the declaration of today.",
            )
    return days


def _check_month(month: str) -> None:
    if _MONTH.fullmatch(month) is None:
        raise RollupRefused("month", found=repr(month), expected="YYYY-MM", remedy="Give a month, such as 2013-01.")


def _inputs(days: list[Manifest]) -> list[dict[str, str]]:
    return [{"dataset": day.dataset, "partition": day.partition, "manifest": day.digest} for day in days]


def _in_use(lake: Store, dataset: str, month: str, inputs: list[dict[str, str]], sizes: list[int]) -> Manifest | None:
    found = latest(lake, monthly(dataset))
    if found is None or month not in found.release.partitions:
        return None
    manifest = manifest_of(lake, found.release, month)
    same = (manifest.inventory_digest, manifest.declaration_digest) == (digest_of(inputs), digest_of(sizes))
    return manifest if same and not objects_gone(lake, manifest) else None


def _rolled(lake: Store, month: str, days: list[Manifest], sizes: list[int], folder: Path) -> Manifest:
    name, inputs = monthly(days[0].dataset), _inputs(days)
    shards: list[ShardEntry] = []
    parts: list[pa.Table] = []
    with closing(_written(lake, days, sizes, folder)) as written:
        for shard in written:
            parts.append(index_rows(shard))
            shards.append(upload_shard(lake, name, shard))
    return Manifest(
        dataset=name,
        partition=month,
        shards=tuple(shards),
        index=write_index(lake, name, month, parts, rows=sum(shard.rows for shard in shards), folder=folder),
        schema=days[0].schema,
        counts=_summed(days),
        inventory_digest=digest_of(inputs),
        declaration_digest=digest_of(sizes),
        facts={"inputs": inputs},
    )


def _written(lake: Store, days: list[Manifest], sizes: list[int], folder: Path) -> Generator[FinishedShard]:
    """The finished shards, one after another."""
    groups = (rows for day in days for rows in row_groups(lake, day))
    first = next(groups, None)
    if first is None:
        return
    filled = next(day for day in days if day.shards)
    with ShardWriter(folder, first.schema, _style(lake, filled), limit_bytes=sizes[0], row_group_bytes=sizes[1]) as writer:
        for rows in chain([first], groups):
            yield from writer.add(rows)
        yield from writer.finish()


def _style(lake: Store, day: Manifest) -> ParquetStyle:
    """As the days were written: payloads that were left alone are left alone again."""
    metadata = shard_file(lake, day.dataset, day.shards[0]).metadata
    group = metadata.row_group(0)
    payload = [group.column(number) for number in range(metadata.num_columns) if group.column(number).path_in_schema == "payload"]
    return ParquetStyle(compress=not payload or payload[0].compression != "UNCOMPRESSED")


def _summed(days: list[Manifest]) -> Counts:
    def added(name: str) -> dict[str, int]:
        total: Counter[str] = Counter()
        for day in days:
            total.update(getattr(day.counts, name))
        return dict(sorted(total.items()))

    return Counts(
        listed=sum(day.counts.listed for day in days),
        read=sum(day.counts.read for day in days),
        skipped=added("skipped"),
        quarantined=added("quarantined"),
        samples=sum(day.counts.samples for day in days),
        members_skipped=added("members_skipped"),
    )
