"""What became of a group of objects, as it lies in the lake.

A result that is a function of the objects (all were read as they were listed) is stored under the group's digest, where any later run
that sees the same objects finds it and writes nothing. One that is not (an object changed or vanished meanwhile) belongs to its plan.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import lacking, overwrite
from headrace.lake.store import Store
from headrace.manifests.manifest import PartEntry, ShardEntry
from headrace.shards.plan import Plan
from headrace.sources.inventory import SourceObject
from headrace.sources.quarantine import Quarantined
from headrace.spec.canonical import canonical_json


@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """The shards of one group, in order.

    Attributes:
        part: index rows, None when there are no samples.
        seen: the objects as they were read; None: exactly as planned.
        members_skipped: what archives held besides samples, by reason.
    """

    shards: tuple[ShardEntry, ...]
    part: PartEntry | None
    quarantined: tuple[Quarantined, ...]
    samples: int
    members_skipped: dict[str, int]
    seen: tuple[SourceObject, ...] | None = None


def store_result(lake: Store, plan: Plan, group: int, result: GroupResult) -> None:
    """Leave the result where it belongs."""
    shared = layout.group(plan.dataset, plan.groups[group].digest)
    own = layout.plan_group(plan.dataset, plan.partition, plan.digest, group)
    overwrite(lake, shared if result.seen is None else own, canonical_json({"format": 1, **asdict(result)}))


def find_result(lake: Store, plan: Plan, group: int) -> GroupResult | None:
    """What an earlier try of this run, or an earlier run, left of this group; None when nobody wrote it."""
    for key in (
        layout.plan_group(plan.dataset, plan.partition, plan.digest, group),
        layout.group(plan.dataset, plan.groups[group].digest),
    ):
        try:
            return result_from(lake.get(key).data)
        except ObjectMissing:
            continue
    return None


def lost_objects(lake: Store, dataset: str, result: GroupResult) -> list[str]:
    """Keys of the result's shards and index rows that are not there in full length."""
    wanted = [(layout.shard(dataset, shard.sha256), shard.size_bytes) for shard in result.shards]
    if result.part is not None:
        wanted.append((layout.part(dataset, result.part.sha256), result.part.size_bytes))
    return lacking(lake, wanted)


def result_from(data: bytes) -> GroupResult:
    """The inverse of what `store_result` writes."""
    fields: dict[str, Any] = json.loads(data)
    seen = fields["seen"]
    return GroupResult(
        shards=tuple(ShardEntry(**item) for item in fields["shards"]),
        part=None if fields["part"] is None else PartEntry(**fields["part"]),
        quarantined=tuple(Quarantined(**item) for item in fields["quarantined"]),
        samples=fields["samples"],
        members_skipped=fields["members_skipped"],
        seen=None if seen is None else tuple(SourceObject(**item) for item in seen),
    )
