"""How a dataset came to be what it is, and going back.

Releases are never removed by a publication, so history is read from them. Going back makes a new release with an old one's partitions:
the pointer only ever moves up, so no reader or racing writer sees time run backwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import lacking
from headrace.lake.store import Store
from headrace.manifests.collecting import require_not_doomed
from headrace.manifests.document import from_bytes
from headrace.manifests.errors import NotPublished
from headrace.manifests.promote import make_young, publish
from headrace.manifests.read import published, read_manifest
from headrace.manifests.release import Release


@dataclass(frozen=True, kw_only=True)
class HistoryLine:
    """One release and what it changed, as partition keys; `run` is the part of the document that says who made it."""

    release: Release
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    run: dict[str, Any]


def history(store: Store, dataset: str, *, limit: int | None = None) -> Iterator[HistoryLine]:
    """The releases from the one in use downwards, at most `limit`. Ends where older ones were collected.

    Raises `NotPublished` when there is none.
    """
    release, run = _with_run(store, dataset, published(store, dataset).number)
    count = 0
    while release is not None and (limit is None or count < limit):
        parent, parent_run = (None, {}) if release.parent is None else _with_run(store, dataset, release.parent)
        before = {} if parent is None else parent.partitions
        yield HistoryLine(release=release, run=run, **_changes(before, release.partitions))
        release, run = parent, parent_run
        count += 1


def named_release(store: Store, dataset: str, number: int | None) -> Release:
    """A release by number; None: the one in use. Raises `NotPublished`."""
    if number is None:
        return published(store, dataset)
    release, _ = _with_run(store, dataset, number)
    if release is None:
        newest = published(store, dataset).number
        raise NotPublished(
            f"{dataset} release {number}",
            found="no such release",
            expected=f"a number from 1 to {newest} that was not collected",
            remedy=f"See `headrace history {dataset}`.",
        )
    return release


def rollback(store: Store, dataset: str, number: int, run: dict[str, Any]) -> Release:
    """Publish the partitions of release `number` again, as the next release.

    Raises:
        NotPublished: there is no such release, or something it needs is gone; nothing is published.
        CollectionUnderWay: `gc` is about to remove some of it.
    """
    old = named_release(store, dataset, number)
    require_whole(store, old)
    return publish(store, dataset, lambda _: dict(old.partitions), {**run, "rolled_back_to": number})


def require_whole(store: Store, release: Release) -> None:
    """All shards of a release are there, and stay for `gc`'s grace period. Raises `NotPublished` and `CollectionUnderWay`."""
    wanted = []
    for partition, digest in release.partitions.items():
        manifest = read_manifest(store, release.dataset, partition, digest)
        wanted += [(layout.shard(release.dataset, shard.sha256), shard.size_bytes) for shard in manifest.shards]
        make_young(store, layout.manifest(release.dataset, partition, digest))
        require_not_doomed(store, manifest)
    gone = lacking(store, wanted)
    if gone:
        raise NotPublished(
            f"{release.dataset} release {release.number}",
            found=f"{len(gone)} of its {len(wanted)} shards are gone, such as {gone[0]}",
            expected="a release that is whole",
            remedy="Choose a newer release, or run its partitions again from their source.",
        )


def _with_run(store: Store, dataset: str, number: int) -> tuple[Release | None, dict[str, Any]]:
    key = layout.release(dataset, number)
    where = f"{store.uri}/{key}"
    try:
        document = from_bytes(where, store.get(key).data)
    except ObjectMissing:
        return None, {}
    return Release.from_document(where, document), document.run


def _changes(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {
        "added": tuple(sorted(after.keys() - before.keys())),
        "changed": tuple(sorted(key for key in after.keys() & before.keys() if after[key] != before[key])),
        "removed": tuple(sorted(before.keys() - after.keys())),
    }
