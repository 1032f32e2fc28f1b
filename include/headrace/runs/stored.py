"""Records and reports in the lake: each task leaves its record, whoever ends a run merges them into one report beside the manifests.

A record is written under a key of its own, so tasks that end together do not meet. The report is replaced by compare-and-swap; records go
only when a report that holds them is in place. Reports are small and few: one a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing, PointerMoved
from headrace.lake.immutable import overwrite
from headrace.lake.store import ObjectInfo, Store
from headrace.manifests.read import latest, manifest_of
from headrace.runs.errors import RunReportRefused
from headrace.runs.report import RunFacts, RunReport, merge
from headrace.runs.task_record import TaskRecord
from headrace.spec.canonical import canonical_json, digest_of

_TRIES: Final = 10
_RUN_HEX: Final = 16


def run_name(dag: str, run_id: str) -> str:
    """A run's name in keys: 16 hex digits, since run IDs hold characters that keys and addresses do not."""
    return digest_of([dag, run_id])[:_RUN_HEX]


def put_record(lake: Store, facts: RunFacts, record: TaskRecord) -> None:
    """Leave one task's record. A try that is run again over itself (a lost answer) replaces its own."""
    folder = layout.run_records(facts.dataset, facts.partition, run_name(facts.dag, facts.run_id))
    overwrite(lake, f"{folder}{record.task}.{record.map_index}.{record.try_number}.json", canonical_json(record.plain()))


def put_report(lake: Store, facts: RunFacts) -> RunReport | None:
    """Merge what the run's tasks left with an earlier report of the run, store it, and take the records away."""
    key = layout.run_report(facts.dataset, facts.partition, run_name(facts.dag, facts.run_id))
    for _ in range(_TRIES):
        current = lake.head(key)
        records = list(_records(lake, facts.dataset, facts.partition, run_name(facts.dag, facts.run_id)))
        earlier = None if current is None else read_report(lake, key)
        merged = merge(facts, [record for _, record in records], earlier)
        if merged is None:
            return None
        counted = _with_counts(lake, merged)
        try:
            lake.swap(key, canonical_json(counted.plain()), expected=None if current is None else current.etag)
        except PointerMoved:
            continue
        for name, _ in records:
            lake.delete(name)
        return counted
    return None  # others kept merging: their report holds these records


def read_report(lake: Store, key: str) -> RunReport:
    """A stored report. Raises `RunReportRefused`, `ObjectMissing`."""
    where = f"{lake.uri}/{key}"
    return RunReport.from_plain(where, _json(where, lake.get(key).data))


def find_run(lake: Store, dataset: str, partition: str, run: str) -> RunReport | None:
    """A run's report with whatever records came after it; None when the run left nothing."""
    key = layout.run_report(dataset, partition, run)
    records = [record for _, record in _records(lake, dataset, partition, run)]
    try:
        earlier = read_report(lake, key)
    except ObjectMissing:
        facts = RunFacts(dataset=dataset, partition=partition, dag="", run_id="", kind="")
        return merge(facts, records)
    return merge(earlier.facts, records, earlier)


def last_reports(lake: Store, dataset: str, *, limit: int, partition: str | None = None) -> list[RunReport]:
    """The newest reports, newest first, by when they were written. One that cannot be read is left out."""
    folder = layout.run_reports(dataset, partition)
    depth = folder.count("/") + (1 if partition is None else 0)
    infos = [info for info in lake.list(folder) if info.key.count("/") == depth]
    newest = sorted(infos, key=lambda info: info.modified, reverse=True)[:limit]
    return list(_readable(lake, newest))


def _readable(lake: Store, infos: list[ObjectInfo]) -> Iterator[RunReport]:
    for info in infos:
        try:
            yield read_report(lake, info.key)
        except (RunReportRefused, ObjectMissing):
            continue


def _records(lake: Store, dataset: str, partition: str, run: str) -> Iterator[tuple[str, TaskRecord]]:
    for info in lake.list(layout.run_records(dataset, partition, run)):
        where = f"{lake.uri}/{info.key}"
        try:
            yield info.key, TaskRecord.from_plain(where, _json(where, lake.get(info.key).data))
        except (RunReportRefused, ObjectMissing):
            continue  # a measurement: a damaged one is as good as none


def _with_counts(lake: Store, report: RunReport) -> RunReport:
    """The report with the counts of the partition in use, if this run left one. All versions of a snapshot's day count."""
    from dataclasses import replace

    facts = report.facts
    found = latest(lake, facts.dataset)
    if report.state != "success" or found is None:
        return report
    own = [name for name in found.release.partitions if name.partition(".")[0] == facts.partition]
    manifests = [manifest_of(lake, found.release, name) for name in own]
    if not manifests:
        return report
    return replace(
        report,
        samples=sum(one.counts.samples for one in manifests),
        shards=sum(len(one.shards) for one in manifests),
        size_bytes=sum(one.size_bytes for one in manifests),
    )


def _json(where: str, data: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except ValueError as error:
        raise _unreadable(where, str(error)) from error
    if not isinstance(fields, dict):
        raise _unreadable(where, repr(fields)[:80])
    return fields


def _unreadable(where: str, found: str) -> RunReportRefused:
    return RunReportRefused(where, found=found, expected="a JSON object", remedy="Delete it: nothing depends on it.")
