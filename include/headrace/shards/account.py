"""Accounting for a partition before it is published: every object and every sample has gone somewhere, once.

The groups' results become the manifest only when the counts agree, no sample ID stands twice, each shard is there in full length, and no
more objects were refused than the declaration allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headrace.lake import layout
from headrace.lake.immutable import lacking
from headrace.lake.store import Store
from headrace.manifests.manifest import Counts, Manifest
from headrace.shards.errors import ShardDamaged
from headrace.shards.group_result import GroupResult
from headrace.shards.index import write_index
from headrace.shards.plan import Plan
from headrace.shards.rows import rows_schema
from headrace.shards.schema import schema_entries, schema_from_hex
from headrace.shards.upload import read_parts
from headrace.shards.workspace import workspace
from headrace.sources.errors import CountsDiffer, TooMuchQuarantined
from headrace.sources.inventory import SourceObject, keep_inventory, shown
from headrace.sources.quarantine import Quarantined
from headrace.spec.canonical import digest_of
from headrace.spec.dataset import Dataset


def account(dataset: Dataset, plan: Plan, results: list[GroupResult], *, lake: Store) -> Manifest:
    """The partition's manifest, its index written and nothing published.

    Raises:
        CountsDiffer: an object or sample is lost or doubled.
        SampleIdRepeated: two samples claim one ID.
        ShardDamaged: a shard is no longer there.
        TooMuchQuarantined: more objects were refused than the declaration allows.
    """
    refused = [item for result in results for item in result.quarantined]
    _check_quarantine(dataset, plan, refused)
    _check_present(lake, dataset.name, results)
    seen = _seen(plan, results)
    digest = (
        plan.inventory.digest if seen is None else digest_of(["seen", plan.inventory.digest, [[s.key, s.etag] for s in seen]])
    )
    if seen is not None:
        keep_inventory(lake, dataset.name, replace(plan.inventory, objects=seen), digest)
    samples = sum(result.samples for result in results)
    parts = [result.part for result in results if result.part is not None]
    with workspace() as folder:
        index = write_index(
            lake, dataset.name, plan.partition, read_parts(lake, dataset.name, parts), rows=samples, folder=folder
        )
    manifest = Manifest(
        dataset=dataset.name,
        partition=plan.partition,
        shards=tuple(shard for result in results for shard in result.shards),
        index=index,
        schema=schema_entries(rows_schema(dataset, schema_from_hex(plan.measured.schema))),
        counts=_counts(plan, results, refused),
        inventory_digest=digest,
        declaration_digest=plan.declaration_digest,
        facts=_facts(plan, refused),
    )
    _check_counts(manifest)
    return manifest


def _seen(plan: Plan, results: list[GroupResult]) -> tuple[SourceObject, ...] | None:
    """The objects as they were read, None when all were read as they were listed."""
    if all(result.seen is None for result in results):
        return None
    seen: list[SourceObject] = []
    for number, result in enumerate(results):
        seen += plan.objects_of(number) if result.seen is None else result.seen
    return tuple(seen)


def _counts(plan: Plan, results: list[GroupResult], refused: list[Quarantined]) -> Counts:
    members: Counter[str] = Counter()
    for result in results:
        members.update(result.members_skipped)
    reached = sum(
        len(plan.objects_of(number)) if result.seen is None else len(result.seen) for number, result in enumerate(results)
    )
    return Counts(
        listed=plan.inventory.listed,
        read=reached - len(refused),
        skipped=_counted(item.reason for item in plan.inventory.skipped),
        quarantined=_counted(item.reason for item in refused),
        samples=sum(result.samples for result in results),
        members_skipped=dict(sorted(members.items())),
    )


def _facts(plan: Plan, refused: list[Quarantined]) -> dict[str, Any]:
    facts: dict[str, Any] = {"density": plan.measured.density}
    if refused:
        facts["quarantined"] = [
            {"key": shown(item.key), "etag": item.etag, "reason": item.reason, "record": item.name} for item in refused
        ]
    return facts


def _counted(reasons: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(reasons).items()))


def _check_counts(manifest: Manifest) -> None:
    counts = manifest.counts
    accounted = counts.read + sum(counts.skipped.values()) + sum(counts.quarantined.values())
    rows, indexed = sum(shard.rows for shard in manifest.shards), sum(entry.rows for entry in manifest.index)
    if accounted != counts.listed or not rows == indexed == counts.samples:
        raise CountsDiffer(
            f"{manifest.dataset} {manifest.partition}",
            found=f"{accounted} of {counts.listed} objects accounted for, {rows} rows in shards and {indexed} in the index "
            f"for {counts.samples} samples",
            expected="every listed object read, skipped or quarantined once, every sample in one shard",
            remedy="Nothing was published. Report this with the plan's digest: it is a fault of Headrace.",
        )


def _check_present(lake: Store, dataset: str, results: list[GroupResult]) -> None:
    """Each shard was read back whole by its writer; it must still be there in full length when the manifest names it."""
    shards = {layout.shard(dataset, shard.sha256): shard for result in results for shard in result.shards}
    for key in lacking(lake, [(key, shard.size_bytes) for key, shard in shards.items()]):
        raise ShardDamaged(
            f"{lake.uri}/{key}",
            found="nothing, or another length",
            expected=f"{shards[key].size_bytes} bytes",
            remedy="Clear the run from its plan task: what is missing is written again.",
        )


def _check_quarantine(dataset: Dataset, plan: Plan, refused: list[Quarantined]) -> None:
    objects = len(plan.inventory.objects)
    if refused and len(refused) > dataset.max_quarantine_share * objects:
        first = refused[0]
        raise TooMuchQuarantined(
            f"{dataset.name} {plan.partition}",
            found=f"{len(refused)} of {objects} objects refused; first {first.subject}: found {first.found}, expected {first.expected}",
            expected=f"at most a share of {dataset.max_quarantine_share:g} refused",
            remedy=f"See `headrace quarantine {dataset.name} {plan.partition}`; mend them, or raise max_quarantine_share.",
        )
