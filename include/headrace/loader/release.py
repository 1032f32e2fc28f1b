"""A dataset's version, pinned: from a tag or a digest to the shards it is made of.

A loader never follows a pointer again once it is open: what it reads is named by the release's digest. Manifests never change, so they
are kept beside the shards, checked against their digest when read; opening a known release asks the lake for the pointer and the
release only.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.loader.errors import ColumnsRefused
from headrace.loader.files import place_bytes
from headrace.manifests.document import from_bytes
from headrace.manifests.errors import DocumentRefused, NotPublished
from headrace.manifests.manifest import Manifest, manifest_from
from headrace.manifests.read import published
from headrace.manifests.release import Release

DIGEST: Final = re.compile(r"[0-9a-f]{64}")
IDENTITY: Final = ("sample_id", "sample_digest")
HIDDEN: Final = ("sample_id", "source_key", "source_etag", "source_row", "source_member", "sample_digest")
"""Columns every shard has and a batch holds only when asked to."""


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One shard of a pinned release. `size_bytes` are written bytes."""

    dataset: str
    partition: str
    sha256: str
    size_bytes: int
    rows: int
    first_sample_id: str
    last_sample_id: str

    @property
    def key(self) -> str:
        return layout.shard(self.dataset, self.sha256)

    @property
    def where(self) -> str:
        """For messages: the shard and the samples in it."""
        return f"shard {self.key} ({self.rows} samples of {self.partition}, {self.first_sample_id} to {self.last_sample_id})"


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """A release by its digest, and its shards in order.

    Attributes:
        lake_uri: where it lies.
        dataset, number, digest: which one it is.
        shards: partitions in key order, each one's shards in order.
        columns: column name -> Arrow type as text, the same in every partition that has rows.
        split_counts: partition -> rows per part, as far as manifests state it.
    """

    lake_uri: str
    dataset: str
    number: int
    digest: str
    shards: tuple[Shard, ...]
    columns: dict[str, str]
    split_counts: dict[str, dict[str, int]]


def pin(store: Store, dataset: str, version: str, folder: Path) -> Pinned:
    """The release that `version` names now: `LATEST`, another tag, or a digest of 64 hex digits.

    Args:
        folder: where manifests are kept between runs.

    Raises:
        NotPublished: no such dataset, tag or release.
        ColumnsRefused: partitions disagree about a column.
    """
    release = _by_digest(store, dataset, version) if DIGEST.fullmatch(version) else published(store, dataset, version)
    with ThreadPoolExecutor(8, thread_name_prefix="headrace-manifest") as pool:
        ordered = sorted(release.partitions.items())
        manifests = list(pool.map(lambda item: _manifest(store, release.dataset, item[0], item[1], folder), ordered))
    return Pinned(
        lake_uri=store.uri,
        dataset=release.dataset,
        number=release.number,
        digest=release.digest,
        shards=tuple(shard for manifest in manifests for shard in _shards(manifest)),
        columns=_columns(manifests),
        split_counts={manifest.partition: counts for manifest in manifests if (counts := _split(manifest)) is not None},
    )


def _by_digest(store: Store, dataset: str, digest: str) -> Release:
    """Releases are stored by number; the newest with that digest is found by walking back."""
    keys = sorted((info.key for info in store.list(layout.releases(dataset))), reverse=True)
    for key in keys:
        where = f"{store.uri}/{key}"
        release = Release.from_document(where, from_bytes(where, store.get(key).data))
        if release.digest == digest:
            return release
    raise NotPublished(
        f"{store.uri}/{dataset}",
        found=f"{len(keys)} releases, none with digest {digest}",
        expected="a release with that digest",
        remedy="Check the digest and the lake; `headrace gc` removes releases nothing names.",
    )


def _manifest(store: Store, dataset: str, partition: str, digest: str, folder: Path) -> Manifest:
    kept = folder / "manifests" / f"{digest}.json"
    key = layout.manifest(dataset, partition, digest)
    where = f"{store.uri}/{key}"
    try:
        document = from_bytes(str(kept), kept.read_bytes())
        if document.digest == digest:
            return manifest_from(str(kept), document)
    except (OSError, DocumentRefused):
        pass  # not kept yet, or damaged on disk: the lake has it
    data = store.get(key).data
    document = from_bytes(where, data)
    if document.digest != digest:
        raise DocumentRefused(
            where, found=f"digest {document.digest}", expected=f"digest {digest}", remedy="The object was altered: restore it."
        )
    place_bytes(kept, data)
    return manifest_from(where, document)


def _shards(manifest: Manifest) -> list[Shard]:
    return [
        Shard(
            dataset=manifest.dataset,
            partition=manifest.partition,
            sha256=entry.sha256,
            size_bytes=entry.size_bytes,
            rows=entry.rows,
            first_sample_id=entry.first_sample_id,
            last_sample_id=entry.last_sample_id,
        )
        for entry in manifest.shards
    ]


def _columns(manifests: list[Manifest]) -> dict[str, str]:
    found: dict[str, str] = {}
    first: Manifest | None = None
    for manifest in manifests:
        if not manifest.shards:
            continue
        columns = {entry.name: entry.type for entry in manifest.schema}
        if first is None:
            first, found = manifest, columns
        elif columns != found:
            name = sorted(set(columns.items()) ^ set(found.items()))[0][0]
            raise ColumnsRefused(
                f"{manifest.dataset} column {name}",
                found=f"{columns.get(name, 'no such column')} in {manifest.partition}",
                expected=f"{found.get(name, 'no such column')}, as in {first.partition}",
                remedy="Backfill the partitions that were written under another declaration.",
            )
    return found


def _split(manifest: Manifest) -> dict[str, int] | None:
    training: Any = manifest.facts.get("training")
    return training.get("split") if isinstance(training, dict) else None
