"""Compaction of one partition, in the three steps a run takes: plan, write groups, publish.

Each step is a function of what lies in the lake and the source, so each may be run again alone, at any time, by any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.immutable import lacking, overwrite
from headrace.lake.store import Store
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import latest, manifest_of, read_manifest
from headrace.manifests.release import Release
from headrace.manifests.run import RunIdentity
from headrace.shards.density import measure_density
from headrace.shards.errors import GroupMissing, ShardDamaged
from headrace.shards.group_result import GroupResult, find_result, lost_objects
from headrace.shards.index import write_index
from headrace.shards.plan import Measured, Plan, plan_from_bytes, plan_inventory, plan_shards, plan_to_bytes, with_done
from headrace.shards.rows import rows_schema
from headrace.shards.schema import schema_entries, schema_from_hex, schema_to_hex
from headrace.shards.upload import read_parts
from headrace.shards.workspace import workspace
from headrace.sources.decode import declared_schema
from headrace.sources.errors import CountsDiffer, TooMuchQuarantined
from headrace.sources.inventory import Inventory, SourceObject, inventory_from, inventory_to_bytes, take_inventory
from headrace.sources.parquet import unified_schema
from headrace.sources.quarantine import Quarantined
from headrace.spec.canonical import digest_of
from headrace.spec.dataset import Dataset

_LOOKUPS_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True)
class Published:
    """A partition in use: its manifest and the release that holds it."""

    manifest: Manifest
    release: Release


def plan_partition(dataset: Dataset, partition: str, *, source: Store, lake: Store) -> Plan:
    """List the partition, decide the work, and store the plan. A partition whose inventory is the one in use has none."""
    inventory = take_inventory(source, dataset, partition)
    in_use = _in_use(lake, dataset.name, partition)
    if in_use is not None and _same_input(dataset, inventory, in_use):
        plan = _nothing_to_do(dataset, inventory, in_use)
    else:
        plan = plan_shards(dataset, inventory, _measured(dataset, source, inventory))
        plan = with_done(plan, _done(lake, plan))
    store_inventory(lake, dataset.name, inventory, inventory.digest)
    _store_plan(lake, plan)
    return plan


def read_plan(lake: Store, dataset: str, partition: str, digest: str) -> Plan:
    """A stored plan. Raises `ObjectMissing`."""
    data = lake.get(layout.plan(dataset, partition, digest)).data
    return plan_from_bytes(data, read_inventory(lake, dataset, plan_inventory(data)))


def publish_partition(dataset: Dataset, plan: Plan, run: RunIdentity, *, lake: Store) -> Published:
    """Account for every object, store the manifest, make the release.

    Raises:
        GroupMissing: a group was not written.
        CountsDiffer: an object or sample is lost or doubled.
        SampleIdRepeated: two samples claim one ID.
        TooMuchQuarantined: more objects were refused than the declaration allows; nothing is published.
    """
    if plan.unchanged is not None:
        manifest = read_manifest(lake, dataset.name, plan.partition, plan.unchanged)
    else:
        manifest = _manifest(dataset, plan, _results(lake, plan), lake)
    identity = run.document()
    digest = write_candidate(lake, manifest, identity)
    release = promote(lake, dataset.name, {plan.partition: digest}, identity)
    return Published(manifest=manifest, release=release)


def store_inventory(lake: Store, dataset: str, inventory: Inventory, digest: str) -> None:
    """Keep an inventory under its digest, so that two manifests can be compared object by object."""
    key = layout.inventory(dataset, digest)
    if lake.head(key) is None:
        overwrite(lake, key, inventory_to_bytes(inventory))


def read_inventory(lake: Store, dataset: str, digest: str) -> Inventory:
    """A stored inventory. Raises `ObjectMissing`."""
    return inventory_from(lake.get(layout.inventory(dataset, digest)).data)


def _in_use(lake: Store, dataset: str, partition: str) -> Manifest | None:
    found = latest(lake, dataset)
    if found is None or partition not in found.release.partitions:
        return None
    return manifest_of(lake, found.release, partition)


def _same_input(dataset: Dataset, inventory: Inventory, manifest: Manifest) -> bool:
    return manifest.inventory_digest == inventory.digest and manifest.declaration_digest == digest_of(dataset)


def _nothing_to_do(dataset: Dataset, inventory: Inventory, manifest: Manifest) -> Plan:
    return Plan(
        dataset=dataset.name,
        partition=inventory.partition,
        declaration_digest=manifest.declaration_digest,
        inventory=inventory,
        measured=Measured(schema=""),
        groups=(),
        unchanged=manifest.digest,
    )


def _measured(dataset: Dataset, source: Store, inventory: Inventory) -> Measured:
    samples = declared_schema(dataset.source)
    if samples is None:
        samples = unified_schema(source, inventory.objects)
    density = measure_density(dataset, source, inventory.objects, samples)
    return Measured(schema=schema_to_hex(samples), density=density)


def _done(lake: Store, plan: Plan) -> list[int]:
    """Groups that an earlier run has written and whose shards are all there."""

    def is_done(group: int) -> bool:
        result = find_result(lake, plan, group)
        return result is not None and result.seen is None and not lost_objects(lake, plan.dataset, result)

    with ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="headrace-plan") as pool:
        verdicts = list(pool.map(is_done, range(len(plan.groups))))
    return [group for group, done in enumerate(verdicts) if done]


def _store_plan(lake: Store, plan: Plan) -> None:
    key = layout.plan(plan.dataset, plan.partition, plan.digest)
    for stale in lake.list(key.removesuffix("plan.json") + "group-"):
        lake.delete(stale.key)  # an earlier run's results that were no function of its plan
    overwrite(lake, key, plan_to_bytes(plan))


def _results(lake: Store, plan: Plan) -> list[GroupResult]:
    with ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="headrace-publish") as pool:
        found = list(pool.map(lambda group: find_result(lake, plan, group), range(len(plan.groups))))
    lost = [group for group, result in enumerate(found) if result is None]
    if lost:
        raise GroupMissing(
            f"{plan.dataset} {plan.partition}",
            found=f"no result for {len(lost)} of {len(found)} groups, the first is {lost[0]}",
            expected="every group written",
            remedy="Clear the run from its plan task: what is written already is kept.",
        )
    return [result for result in found if result is not None]


def _manifest(dataset: Dataset, plan: Plan, results: list[GroupResult], lake: Store) -> Manifest:
    refused = [item for result in results for item in result.quarantined]
    _check_quarantine(dataset, plan, refused)
    _check_present(lake, dataset.name, results)
    seen = _seen(plan, results)
    digest = (
        plan.inventory.digest if seen is None else digest_of(["seen", plan.inventory.digest, [[s.key, s.etag] for s in seen]])
    )
    if seen is not None:
        store_inventory(lake, dataset.name, replace(plan.inventory, objects=seen), digest)
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
            {"key": item.key, "etag": item.etag, "reason": item.reason, "record": item.name} for item in refused
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
