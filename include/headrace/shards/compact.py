"""Compaction of one partition, in the three steps a run takes: plan, write groups, publish.

Each step is a function of what lies in the lake and the source, so each may be run again alone, at any time, by any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake import layout
from headrace.lake.immutable import write_once
from headrace.lake.store import Store
from headrace.manifests.manifest import Counts, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import latest, manifest_of, read_manifest
from headrace.manifests.release import Release
from headrace.manifests.run import RunIdentity
from headrace.shards.errors import SampleIdRepeated, ShardDamaged
from headrace.shards.group import GroupResult, read_group_result
from headrace.shards.plan import Plan, plan_from_bytes, plan_shards, plan_to_bytes
from headrace.shards.samples import shard_schema
from headrace.shards.table import schema_entries
from headrace.sources.decode import sample_schema
from headrace.sources.errors import CountsDiffer, NothingLanded, TooMuchQuarantined
from headrace.sources.inventory import prefix_of, take_inventory
from headrace.sources.quarantine import Quarantined
from headrace.spec.canonical import canonical_json
from headrace.spec.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class Published:
    """A partition in use: its manifest and the release that holds it."""

    manifest: Manifest
    release: Release


def plan_partition(dataset: Dataset, partition: str, *, source: Store, lake: Store) -> Plan:
    """List the partition, decide the work, and store the plan. A partition whose inventory is the one in use has none.

    Raises:
        NothingLanded: there is no object, and the declaration does not say that this is normal.
    """
    inventory = take_inventory(source, dataset, partition)
    if not inventory.objects and not dataset.may_be_empty:
        raise NothingLanded(
            f"{source.uri}/{prefix_of(dataset, partition)}",
            found=f"no object with samples among {inventory.listed} listed",
            expected=f"the objects of {dataset.name} {partition}",
            remedy="Land them and clear this run, or declare may_be_empty=True if days without data are normal.",
        )
    plan = plan_shards(dataset, inventory)
    in_use = _in_use(lake, dataset.name, partition)
    if in_use is not None and _same_input(plan, in_use):
        plan = replace(plan, unchanged=in_use.digest)
    lake.delete(layout.plan(dataset.name, partition, plan.digest))
    write_once(lake, layout.plan(dataset.name, partition, plan.digest), plan_to_bytes(plan))
    return plan


def read_plan(lake: Store, dataset: str, partition: str, digest: str) -> Plan:
    """A stored plan. Raises `ObjectMissing`."""
    return plan_from_bytes(lake.get(layout.plan(dataset, partition, digest)).data)


def publish_partition(dataset: Dataset, plan: Plan, run: RunIdentity, *, lake: Store) -> Published:
    """Account for every object, store the manifest, make the release.

    Raises:
        CountsDiffer: an object or sample is lost or doubled.
        SampleIdRepeated: two samples claim one ID.
        TooMuchQuarantined: more objects were refused than the declaration allows; nothing is published.
    """
    if plan.unchanged is not None:
        manifest = read_manifest(lake, dataset.name, plan.partition, plan.unchanged)
    else:
        results = [read_group_result(lake, dataset.name, plan.partition, plan.digest, group) for group in range(len(plan.groups))]
        manifest = _manifest(dataset, plan, results)
        refused = [item for result in results for item in result.quarantined]
        _check_present(lake, manifest)
        _check_unique(lake, manifest)
        _store_quarantine(lake, dataset, plan.partition, refused)
        _check_quarantine(dataset, manifest, refused)
    identity = run.document()
    digest = write_candidate(lake, manifest, identity)
    release = promote(lake, dataset.name, {plan.partition: digest}, identity)
    return Published(manifest=manifest, release=release)


def _in_use(lake: Store, dataset: str, partition: str) -> Manifest | None:
    found = latest(lake, dataset)
    if found is None or partition not in found.release.partitions:
        return None
    return manifest_of(lake, found.release, partition)


def _same_input(plan: Plan, manifest: Manifest) -> bool:
    same = manifest.inventory_digest == plan.inventory.digest
    return same and manifest.declaration_digest == plan.declaration_digest


def _manifest(dataset: Dataset, plan: Plan, results: list[GroupResult]) -> Manifest:
    seen = tuple(item for result in results for item in result.seen)
    shards = tuple(shard for result in results for shard in result.shards)
    refused = [item for result in results for item in result.quarantined]
    schema = shard_schema(sample_schema(dataset.source.format))
    manifest = Manifest(
        dataset=dataset.name,
        partition=plan.partition,
        shards=shards,
        index=tuple(entry for result in results for entry in result.index),
        schema=schema_entries(schema),
        counts=Counts(
            listed=plan.inventory.listed,
            read=len(seen) - len(refused),
            skipped=_counted(item.reason for item in plan.inventory.skipped),
            quarantined=_counted(item.reason for item in refused),
            samples=sum(result.samples for result in results),
        ),
        inventory_digest=replace(plan.inventory, objects=seen).digest,
        declaration_digest=plan.declaration_digest,
    )
    _check_counts(manifest, [item.key for item in seen], [item.key for item in plan.inventory.objects])
    return manifest


def _counted(reasons: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(reasons).items()))


def _check_counts(manifest: Manifest, seen: list[str], planned: list[str]) -> None:
    counts = manifest.counts
    accounted = counts.read + sum(counts.skipped.values()) + sum(counts.quarantined.values())
    rows = sum(shard.rows for shard in manifest.shards)
    if seen != planned or accounted != counts.listed or rows != counts.samples:
        raise CountsDiffer(
            f"{manifest.dataset} {manifest.partition}",
            found=f"{accounted} of {counts.listed} objects accounted for, {rows} rows in shards for {counts.samples} samples",
            expected="every listed object read, skipped or quarantined once, every sample in one shard",
            remedy="Nothing was published. Report this with the plan's digest: it is a fault of Headrace.",
        )


def _check_present(lake: Store, manifest: Manifest) -> None:
    """Each shard was read back whole by its writer; it must still be there in full length when the manifest names it."""
    for shard in manifest.shards:
        key = layout.shard(manifest.dataset, shard.sha256)
        info = lake.head(key)
        if info is None or info.size_bytes != shard.size_bytes:
            raise ShardDamaged(
                f"{lake.uri}/{key}",
                found="nothing" if info is None else f"{info.size_bytes} bytes",
                expected=f"{shard.size_bytes} bytes",
                remedy="Clear the run's write tasks: they write what is missing again.",
            )


def _check_unique(lake: Store, manifest: Manifest) -> None:
    ids: set[str] = set()
    for entry in manifest.index:
        data = lake.get(layout.index(manifest.dataset, entry.sha256)).data
        table = pq.read_table(pa.BufferReader(data), columns=["sample_id"])
        column = [str(one) for one in table.column("sample_id").to_pylist()]
        twice = ids.intersection(column) or {one for one, following in pairwise(column) if one == following}
        if twice:
            raise SampleIdRepeated(
                f"{manifest.dataset} {manifest.partition}",
                found=f"{len(twice)} sample IDs more than once, such as {min(twice)}",
                expected="each sample ID once",
                remedy="The declared key does not name a sample: add a column to it, or remove the doubled rows at the source.",
            )
        ids.update(column)


def _store_quarantine(lake: Store, dataset: Dataset, partition: str, refused: list[Quarantined]) -> None:
    for item in refused:
        key = layout.quarantine(dataset.name, partition, item.name)
        lake.delete(key)
        write_once(lake, key, canonical_json(asdict(item)))


def _check_quarantine(dataset: Dataset, manifest: Manifest, refused: list[Quarantined]) -> None:
    objects = manifest.counts.read + len(refused)
    if refused and len(refused) > dataset.max_quarantine_share * objects:
        first = refused[0]
        raise TooMuchQuarantined(
            f"{dataset.name} {manifest.partition}",
            found=f"{len(refused)} of {objects} objects refused; first {first.subject}: found {first.found}, expected {first.expected}",
            expected=f"at most a share of {dataset.max_quarantine_share:g} refused",
            remedy=f"See `headrace quarantine {dataset.name} {manifest.partition}`; mend them, or raise max_quarantine_share.",
        )
