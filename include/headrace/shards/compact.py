"""Compaction of one partition, in the three steps a run takes: plan, write groups, publish.

Each step is a function of what lies in the lake and the source, so each may be run again alone, at any time, by any machine.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from headrace.lake import layout
from headrace.lake.immutable import overwrite
from headrace.lake.store import Store
from headrace.manifests.collecting import objects_gone
from headrace.manifests.manifest import Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import latest, manifest_of, read_manifest
from headrace.manifests.release import Release
from headrace.manifests.run import RunIdentity
from headrace.shards.account import account
from headrace.shards.density import measure_density
from headrace.shards.errors import GroupMissing
from headrace.shards.group_result import GroupResult, find_result, lost_objects
from headrace.shards.plan import Measured, Plan, plan_from_bytes, plan_inventory, plan_shards, plan_to_bytes, with_done
from headrace.shards.schema import schema_to_hex
from headrace.sources.decode import declared_schema
from headrace.sources.errors import NothingLanded
from headrace.sources.inventory import Inventory, keep_inventory, kept_inventory, prefix_of, take_inventory
from headrace.sources.parquet import unified_schema
from headrace.spec.canonical import digest_of
from headrace.spec.dataset import Dataset

_LOOKUPS_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True)
class Published:
    """A partition in use: its manifest and the release that holds it."""

    manifest: Manifest
    release: Release


def plan_partition(dataset: Dataset, partition: str, *, source: Store, lake: Store) -> Plan:
    """List the partition, decide the work, and store the plan. A partition whose inventory is the one in use has none, unless
    something of it was lost from the lake: that is written again.

    Raises:
        NothingLanded: there is no object, and the declaration does not say that this is normal.
    """
    inventory = take_inventory(source, dataset, partition)
    _check_landed(dataset, inventory, source)
    in_use = _in_use(lake, dataset.name, partition)
    if in_use is not None and _same_input(dataset, inventory, in_use) and not objects_gone(lake, in_use):
        plan = _nothing_to_do(dataset, inventory, in_use)
    else:
        plan = plan_shards(dataset, inventory, _measured(dataset, source, inventory))
        plan = with_done(plan, _done(lake, plan))
    keep_inventory(lake, dataset.name, inventory, inventory.digest)
    _store_plan(lake, plan)
    return plan


def read_plan(lake: Store, dataset: str, partition: str, digest: str) -> Plan:
    """A stored plan. Raises `ObjectMissing`."""
    data = lake.get(layout.plan(dataset, partition, digest)).data
    return plan_from_bytes(data, kept_inventory(lake, dataset, plan_inventory(data)))


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
        manifest = account(dataset, plan, _results(lake, plan), lake=lake)
    identity = run.document()
    digest = write_candidate(lake, manifest, identity)
    release = promote(lake, dataset.name, {plan.partition: digest}, identity)
    return Published(manifest=manifest, release=release)


def _check_landed(dataset: Dataset, inventory: Inventory, source: Store) -> None:
    if not inventory.objects and not dataset.may_be_empty:
        raise NothingLanded(
            f"{source.uri}/{prefix_of(dataset, inventory.partition)}",
            found=f"no object with samples among {inventory.listed} listed",
            expected=f"the objects of {dataset.name} {inventory.partition}",
            remedy="Land them and clear this run, or declare may_be_empty=True if days without data are normal.",
        )


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
