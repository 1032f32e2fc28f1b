"""What a run is going to write, decided before anything is written.

A plan is a pure function of the inventory, the declaration and two things measured from the objects (one unified schema, how many
bytes are written per source byte). Objects in key order are cut into groups of about one shard each. A group is written by one task from
its first object to its last, so shards depend on groups only, never on how many tasks there are.

Where to cut is decided by the keys themselves: near the target size, before the object whose key hashes lowest. So a new or changed
object moves the cuts next to it, and soon the old cuts are met again: the groups beyond have the same objects as before, and their shards
are reused by the group's digest. An object changed in place, its size kept, costs exactly one shard; one that shifts the cuts costs one
in most cases, several in some (measured in `bench/README.md`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from headrace.sources.inventory import Inventory, SourceObject
from headrace.spec.canonical import canonical_json, digest_of
from headrace.spec.dataset import Dataset

MAX_BATCHES: Final = 200
GROUPS_PER_TASK: Final = 8
_LOW, _HIGH = 0.92, 1.08  # a cut falls where the group has this share of the target
_ROOM = 1.25


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A half-open range `[first, end)` of the inventory's objects; `digest` names what it becomes."""

    first: int
    end: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What planning measured from the objects.

    Attributes:
        schema: the samples' own columns, as a serialised Arrow schema in hex.
        density: written bytes per source byte.
    """

    schema: str
    density: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run's work on one partition.

    Attributes:
        done: groups whose shards are in the lake already.
        unchanged: the manifest in use, when there is nothing to do.
    """

    dataset: str
    partition: str
    declaration_digest: str
    inventory: Inventory
    measured: Measured
    groups: tuple[Group, ...]
    done: tuple[int, ...] = ()
    unchanged: str | None = None

    @property
    def digest(self) -> str:
        return digest_of([self.dataset, self.partition, self.declaration_digest, self.inventory.digest, self.measured])

    def objects_of(self, group: int) -> tuple[SourceObject, ...]:
        cut = self.groups[group]
        return self.inventory.objects[cut.first : cut.end]


def plan_shards(dataset: Dataset, inventory: Inventory, measured: Measured) -> Plan:
    """Cut the inventory into groups of about one shard each."""
    target = int(dataset.shard_bytes / measured.density)
    writing = writing_digest(dataset, measured.schema)
    cuts = cut_objects(inventory.objects, target)
    groups = tuple(Group(first=first, end=end, digest=group_digest(writing, inventory.objects[first:end])) for first, end in cuts)
    return Plan(
        dataset=dataset.name,
        partition=inventory.partition,
        declaration_digest=digest_of(dataset),
        inventory=inventory,
        measured=measured,
        groups=groups,
    )


def writer_limit(dataset: Dataset, objects: Sequence[SourceObject], measured: Measured) -> int:
    """Where a group's writer closes a shard. A group is planned to be one shard, so its writer has some room; a single object that is
    larger than that is cut at the target.
    """
    expected = sum(one.size_bytes for one in objects) * measured.density
    return dataset.shard_bytes if expected > _ROOM * dataset.shard_bytes else int(_ROOM * dataset.shard_bytes)


def cut_objects(objects: Sequence[SourceObject], target_bytes: int) -> list[tuple[int, int]]:
    """Half-open ranges that cover all objects in order, each of 92 to 108 % of the target where the objects allow it.

    An object above that size has a range of its own. Every range but the last, and those before such an object, is near the target.
    """
    low, high = _LOW * target_bytes, _HIGH * target_bytes
    cuts: list[tuple[int, int]] = []
    first, size = 0, 0
    candidates: list[tuple[int, int]] = []  # (position of a possible next first object, bytes before it)
    position = 0
    while position < len(objects):
        if position > first and size >= low:
            candidates.append((position, size))
        if position > first and size + objects[position].size_bytes > high:
            end, before = min(candidates, key=lambda one: rank(objects[one[0]].key)) if candidates else (position, size)
            cuts.append((first, end))
            first, size, candidates = end, size - before, []
            candidates = _candidates_between(objects, first, position, low)
            continue
        size += objects[position].size_bytes
        position += 1
    if first < len(objects):
        cuts.append((first, len(objects)))
    return cuts


def _candidates_between(objects: Sequence[SourceObject], first: int, position: int, low: float) -> list[tuple[int, int]]:
    """Cuts already passed when a group starts before the reading position."""
    found, size = [], 0
    for number in range(first, position):
        if number > first and size >= low:
            found.append((number, size))
        size += objects[number].size_bytes
    return found


def writing_digest(dataset: Dataset, schema: str) -> str:
    """Everything besides the objects that a group's shards depend on, the writer's own versions among them."""
    import pyarrow

    source = dataset.source
    how = [
        source.format,
        list(source.unpack),
        source.max_unpacked_bytes,
        list(dataset.key),
        dataset.shard_bytes,
        dataset.row_group_bytes,
    ]
    return digest_of(["headrace shard 1", pyarrow.__version__, schema, *how])


def group_digest(writing: str, objects: Sequence[SourceObject]) -> str:
    """The name of what these objects become under these rules."""
    found = hashlib.sha256(writing.encode())
    for one in objects:
        found.update(json.dumps([one.key, one.size_bytes, one.etag], separators=(",", ":")).encode())
    return found.hexdigest()


def batches(plan: Plan) -> list[list[int]]:
    """Numbers of the groups to write, in order, dealt evenly to tasks; none when nothing changed.

    A task gets about `GROUPS_PER_TASK` groups, so a small day stays one task; there are at most `MAX_BATCHES`.
    """
    if plan.unchanged is not None:
        return []
    done = set(plan.done)
    todo = [number for number in range(len(plan.groups)) if number not in done]
    tasks = min(-(-len(todo) // GROUPS_PER_TASK), MAX_BATCHES)
    return [todo[task * len(todo) // tasks : (task + 1) * len(todo) // tasks] for task in range(tasks)]


def plan_to_bytes(plan: Plan) -> bytes:
    """The plan as it lies in the lake; its inventory lies beside it (`layout.inventory`)."""
    return canonical_json(
        {
            "format": 1,
            "dataset": plan.dataset,
            "partition": plan.partition,
            "declaration_digest": plan.declaration_digest,
            "inventory": plan.inventory.digest,
            "measured": asdict(plan.measured),
            "groups": [[group.first, group.end, group.digest] for group in plan.groups],
            "done": list(plan.done),
            "unchanged": plan.unchanged,
        }
    )


def plan_inventory(data: bytes) -> str:
    """Digest of the inventory a stored plan is about."""
    return str(json.loads(data)["inventory"])


def plan_from_bytes(data: bytes, inventory: Inventory) -> Plan:
    """The inverse of `plan_to_bytes`."""
    fields: dict[str, Any] = json.loads(data)
    return Plan(
        dataset=fields["dataset"],
        partition=fields["partition"],
        declaration_digest=fields["declaration_digest"],
        inventory=inventory,
        measured=Measured(**fields["measured"]),
        groups=tuple(Group(first=first, end=end, digest=digest) for first, end, digest in fields["groups"]),
        done=tuple(fields["done"]),
        unchanged=fields["unchanged"],
    )


def with_done(plan: Plan, done: Sequence[int]) -> Plan:
    """The same plan, knowing which groups need no writing."""
    return replace(plan, done=tuple(done))


def rank(key: str) -> bytes:
    """A fixed pseudo-random order of keys, the same wherever and whenever they are listed."""
    return hashlib.blake2b(key.encode(errors="surrogateescape"), digest_size=8).digest()
