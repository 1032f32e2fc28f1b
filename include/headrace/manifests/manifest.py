"""The manifest: the immutable description of one partition's shards."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.manifests.document import Document
from headrace.manifests.errors import DocumentRefused
from headrace.spec.canonical import plain


@dataclass(frozen=True, kw_only=True)
class ShardEntry:
    """One shard, in the partition's order."""

    sha256: str
    size_bytes: int
    rows: int
    row_groups: int
    first_sample_id: str
    last_sample_id: str


@dataclass(frozen=True, kw_only=True)
class IndexEntry:
    """One sample index file; its rows are sorted by sample ID, and no two files overlap."""

    sha256: str
    size_bytes: int
    rows: int
    first_sample_id: str
    last_sample_id: str


@dataclass(frozen=True, kw_only=True)
class PartEntry:
    """Index rows of one group, not yet merged. Stands in group results, never in a manifest."""

    sha256: str
    size_bytes: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class ColumnEntry:
    """One column of the shards: name and Arrow type, as text."""

    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Where each listed object went: `listed` = `read` + all `skipped` + all `quarantined`; `samples` = rows in shards.

    `members_skipped` counts what archives held besides samples.
    """

    listed: int
    read: int
    skipped: dict[str, int]
    quarantined: dict[str, int]
    samples: int
    members_skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One partition's shards and everything they are a function of.

    Attributes:
        dataset, partition: whose they are.
        shards: in order.
        index: sample index files.
        schema: the shards' columns.
        counts: of objects and samples.
        inventory_digest: of the source objects seen (they lie under it in the lake), or of the input manifests.
        declaration_digest: of the declaration.
        facts: what else the content depends on and a reader needs, by kind: inputs, cutoffs, knowledge time, transform
            lineage, profile. JSON values only.
    """

    dataset: str
    partition: str
    shards: tuple[ShardEntry, ...]
    index: tuple[IndexEntry, ...]
    schema: tuple[ColumnEntry, ...]
    counts: Counts
    inventory_digest: str
    declaration_digest: str
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return Document(content=content_of(self), run={}).digest

    @property
    def size_bytes(self) -> int:
        return sum(shard.size_bytes for shard in self.shards)


def content_of(manifest: Manifest) -> dict[str, Any]:
    """The digested part of the stored document."""
    return {**asdict(manifest), "facts": plain(manifest.facts)}


def manifest_from(where: str, document: Document) -> Manifest:
    """The manifest in a document. `where` is named in errors."""
    content = document.content
    try:
        return Manifest(
            dataset=content["dataset"],
            partition=content["partition"],
            shards=tuple(ShardEntry(**shard) for shard in content["shards"]),
            index=tuple(IndexEntry(**index) for index in content["index"]),
            schema=tuple(ColumnEntry(**column) for column in content["schema"]),
            counts=Counts(**content["counts"]),
            inventory_digest=content["inventory_digest"],
            declaration_digest=content["declaration_digest"],
            facts=content["facts"],
        )
    except (KeyError, TypeError) as error:
        raise DocumentRefused(
            where,
            found=f"{type(error).__name__}: {error}",
            expected="a manifest",
            remedy="Restore the object, or run the partition again.",
        ) from error
