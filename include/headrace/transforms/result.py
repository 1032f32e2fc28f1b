"""What one input shard became, as it lies in the lake: the cache.

Stored under a digest of (input shard, fingerprint), so an input shard that did not change costs one look-up, and another fingerprint never
finds it. It lies among the group results of compaction and reads like one of them, so `headrace gc` keeps it as long as its shards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import lacking, overwrite
from headrace.lake.store import Store
from headrace.manifests.manifest import PartEntry, ShardEntry
from headrace.spec.canonical import canonical_json, digest_of
from headrace.transforms.job import FailedSample

_LOOKUPS_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True)
class ShardResult:
    """The shards made of one input shard, in order.

    Attributes:
        part: their index rows, None when there are none.
        samples: in the input shard; `samples` = transformed + `dropped` + failed.
        rows: in `shards`.
        dropped: samples that became nothing without failing.
    """

    shards: tuple[ShardEntry, ...]
    part: PartEntry | None
    samples: int
    rows: int
    dropped: int
    failed: tuple[FailedSample, ...]


def result_key(transform: str, fingerprint: str, input_shard: str) -> str:
    """Where the result of an input shard (its SHA-256) lies."""
    return layout.group(transform, digest_of(["transform", fingerprint, input_shard]))


def store_result(lake: Store, key: str, result: ShardResult) -> None:
    """Keep it for this run and later ones."""
    overwrite(lake, key, canonical_json({"format": 1, **asdict(result)}))


def find_results(lake: Store, transform: str, fingerprint: str, input_shards: Iterable[str]) -> list[ShardResult | None]:
    """What is known of each input shard, sixteen look-ups at a time; None where nothing is."""

    def find(input_shard: str) -> ShardResult | None:
        try:
            return _result_from(lake.get(result_key(transform, fingerprint, input_shard)).data)
        except ObjectMissing:
            return None

    with ThreadPoolExecutor(_LOOKUPS_AT_ONCE, thread_name_prefix="headrace-lookup") as pool:
        return list(pool.map(find, input_shards))


def is_whole(lake: Store, transform: str, result: ShardResult, known: frozenset[str] = frozenset()) -> bool:
    """Whether all that the result names is there in full length; `known` (SHA-256) is, and is not asked for again."""
    wanted = [(layout.shard(transform, one.sha256), one.size_bytes) for one in result.shards if one.sha256 not in known]
    if result.part is not None:
        wanted.append((layout.part(transform, result.part.sha256), result.part.size_bytes))
    return not lacking(lake, wanted)


def _result_from(data: bytes) -> ShardResult:
    fields: dict[str, Any] = json.loads(data)
    part = fields["part"]
    return ShardResult(
        shards=tuple(ShardEntry(**item) for item in fields["shards"]),
        part=None if part is None else PartEntry(**part),
        samples=fields["samples"],
        rows=fields["rows"],
        dropped=fields["dropped"],
        failed=tuple(FailedSample(**item) for item in fields["failed"]),
    )
