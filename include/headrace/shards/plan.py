"""What a run is going to write, decided before anything is written.

A plan is a pure function of the inventory and the declaration: objects in key order, cut into groups by bytes. A group is written by
one task from its first object to its last, so shard boundaries depend on groups only, never on how many tasks there are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from headrace.sources.inventory import Inventory, Skipped, SourceObject
from headrace.spec.canonical import canonical_json, digest_of
from headrace.spec.dataset import Dataset

GROUP_SHARDS: Final = 8
MAX_BATCHES: Final = 200


@dataclass(frozen=True, kw_only=True)
class Group:
    """A half-open range `[first, end)` of the inventory's objects."""

    first: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run's work on one partition. `unchanged` names the manifest in use when there is nothing to do."""

    dataset: str
    partition: str
    declaration_digest: str
    inventory: Inventory
    groups: tuple[Group, ...]
    unchanged: str | None = None

    @property
    def digest(self) -> str:
        return digest_of([self.dataset, self.partition, self.declaration_digest, self.inventory.digest])

    def objects_of(self, group: int) -> tuple[SourceObject, ...]:
        cut = self.groups[group]
        return self.inventory.objects[cut.first : cut.end]


def plan_shards(dataset: Dataset, inventory: Inventory) -> Plan:
    """Cut the inventory into groups of about `GROUP_SHARDS` shards of source bytes each."""
    limit = GROUP_SHARDS * dataset.shard_bytes
    groups: list[Group] = []
    first, size = 0, 0
    for position, source in enumerate(inventory.objects):
        if position > first and size + source.size_bytes > limit:
            groups.append(Group(first=first, end=position))
            first, size = position, 0
        size += source.size_bytes
    if inventory.objects:
        groups.append(Group(first=first, end=len(inventory.objects)))
    return Plan(
        dataset=dataset.name,
        partition=inventory.partition,
        declaration_digest=digest_of(dataset),
        inventory=inventory,
        groups=tuple(groups),
    )


def batches(plan: Plan) -> list[list[int]]:
    """Group numbers dealt to at most `MAX_BATCHES` tasks, in order, as evenly as possible; none when nothing changed."""
    if plan.unchanged is not None:
        return []
    count = len(plan.groups)
    tasks = min(count, MAX_BATCHES)
    return [list(range(task * count // tasks, (task + 1) * count // tasks)) for task in range(tasks)]


def plan_to_bytes(plan: Plan) -> bytes:
    """The plan as it lies in the lake."""
    return canonical_json(plan)


def plan_from_bytes(data: bytes) -> Plan:
    """The inverse of `plan_to_bytes`."""
    fields: dict[str, Any] = json.loads(data)
    inventory = fields["inventory"]
    return Plan(
        dataset=fields["dataset"],
        partition=fields["partition"],
        declaration_digest=fields["declaration_digest"],
        inventory=Inventory(
            partition=inventory["partition"],
            objects=tuple(SourceObject(**_values(item)) for item in inventory["objects"]),
            skipped=tuple(Skipped(**_values(item)) for item in inventory["skipped"]),
        ),
        groups=tuple(Group(**_values(item)) for item in fields["groups"]),
        unchanged=fields["unchanged"],
    )


def _values(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "kind"}
