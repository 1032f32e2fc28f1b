"""What a run is going to transform, decided before anything is: the input shards without a result under this fingerprint.

A plan names its input by manifest digest, so the run is a function of what it saw, whatever is published meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.collecting import objects_gone
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import latest, manifest_of, published
from headrace.spec.canonical import digest_of
from headrace.spec.dataset import MB
from headrace.spec.transform import Transform
from headrace.transforms.changes import changed_code, changed_versions
from headrace.transforms.fingerprint import Fingerprint, fingerprint_of
from headrace.transforms.result import find_results, is_whole

MAX_BATCHES: Final = 200
BATCH_BYTES: Final = 400 * MB


@dataclass(frozen=True, kw_only=True)
class TransformPlan:
    """One partition's work.

    Attributes:
        input: the input's manifest.
        fingerprint: of the code.
        missing: positions of the input shards that have no result yet.
        why: what differs from the manifest in use, in words; empty when nothing does.
        changed_code: where the code does, what in it.
    """

    transform: str
    input: Manifest
    fingerprint: Fingerprint
    missing: tuple[int, ...]
    why: tuple[str, ...]
    changed_code: tuple[str, ...]

    @property
    def missing_bytes(self) -> int:
        """Bytes of the input shards to transform."""
        return sum(self.input.shards[position].size_bytes for position in self.missing)


def plan_transform(transform: Transform, partition: str, *, lake: Store) -> TransformPlan:
    """Decide the work for one partition of the input's newest release. Writes nothing.

    Raises:
        NotPublished: the input has no such partition.
        CodeRefused: the code cannot be identified.
    """
    fingerprint = fingerprint_of(transform)
    given = manifest_of(lake, published(lake, transform.dataset), partition)
    in_use = manifest_in_use(lake, transform.name, partition)
    gone = frozenset() if in_use is None else frozenset(objects_gone(lake, in_use))
    why = differences(transform, given, fingerprint, in_use) or (("shards or indexes are gone",) if gone else ())
    kept = () if in_use is None else (shard.sha256 for shard in in_use.shards)
    known = frozenset(sha256 for sha256 in kept if layout.shard(transform.name, sha256) not in gone)
    missing: tuple[int, ...] = ()
    if why:
        results = find_results(lake, transform.name, fingerprint.digest, [shard.sha256 for shard in given.shards])
        missing = tuple(
            n for n, result in enumerate(results) if result is None or not is_whole(lake, transform.name, result, known)
        )
    facts = None if in_use is None else in_use.facts.get("transform")
    return TransformPlan(
        transform=transform.name,
        input=given,
        fingerprint=fingerprint,
        missing=missing,
        why=why,
        changed_code=() if facts is None else changed_code(facts, fingerprint, lake, transform.name),
    )


def batches(plan: TransformPlan) -> list[list[int]]:
    """Positions dealt to tasks, in order: enough bytes each to be worth a task, and at most `MAX_BATCHES` tasks."""
    target = max(BATCH_BYTES, -(-plan.missing_bytes // MAX_BATCHES))
    dealt: list[list[int]] = []
    size = 0
    for position in plan.missing:
        if not dealt or size >= target:
            dealt.append([])
            size = 0
        dealt[-1].append(position)
        size += plan.input.shards[position].size_bytes
    return dealt


def differences(transform: Transform, given: Manifest, fingerprint: Fingerprint, in_use: Manifest | None) -> tuple[str, ...]:
    """What a new manifest would differ in from the one in use; empty: it would be the same."""
    if in_use is None:
        return ("not made yet",)
    facts: dict[str, Any] = in_use.facts.get("transform", {})
    found = []
    if facts.get("input", {}).get("manifest") != given.digest:
        found.append("input changed")
    if facts.get("code") != fingerprint.code:
        found.append("transform changed")
    found += changed_versions(facts.get("packages", {}), fingerprint.packages)
    if not found and facts.get("fingerprint") != fingerprint.digest:
        found.append("shard sizes changed")
    if in_use.declaration_digest != digest_of(transform) and not found:
        found.append("declaration changed")
    return tuple(found)


def manifest_in_use(lake: Store, dataset: str, partition: str) -> Manifest | None:
    """The partition's manifest in the newest release; None when it was never published."""
    found = latest(lake, dataset)
    if found is None or partition not in found.release.partitions:
        return None
    return manifest_of(lake, found.release, partition)
