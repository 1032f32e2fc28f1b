"""From candidate to release: all or nothing, by compare-and-swap.

The next release is LATEST with some partitions replaced. It is written create-only under the next number, then the pointer is swapped.
So at every instant the pointer names a whole release, and at most one release stands above it:

- killed before the pointer moved: the release above the pointer is whole and was going to be in use; whoever publishes next moves the
  pointer for it (helping) and goes on from there;
- another publication won meanwhile: ours is made again on top of theirs (rebasing), so neither loses a partition.

Publishing what is already there makes no new release.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.errors import AlreadyThere, PointerMoved
from headrace.lake.probe import require_conditional_writes
from headrace.lake.store import Store
from headrace.manifests.collecting import require_kept
from headrace.manifests.document import Document, to_bytes
from headrace.manifests.errors import PublicationContended
from headrace.manifests.manifest import Manifest, content_of
from headrace.manifests.read import Latest, latest, release_numbered
from headrace.manifests.release import Note, Pointer, Release

TRIES: Final = 100
Change = Callable[[dict[str, str]], dict[str, str]]


def write_candidate(store: Store, manifest: Manifest, run: dict[str, Any]) -> str:
    """Store a manifest; it is a candidate until promoted. Returns its digest; the same content is stored once.

    `run` says who made it; the first writer's stays. From here on, for `gc`'s grace period at least, what it names is kept.

    Raises:
        CollectionUnderWay: `gc` is about to remove some of what it names.
        DataGone: some of it is not there.
    """
    document = Document(content=content_of(manifest), run=run)
    key = layout.manifest(manifest.dataset, manifest.partition, document.digest)
    try:
        store.put_new(key, to_bytes(document))
    except AlreadyThere:  # the key is the content's digest: another run wrote the same content with its own run part
        make_young(store, key)
    require_kept(store, manifest)
    return document.digest


def make_young(store: Store, key: str) -> None:
    """Write an old document again as it is, so that a collection takes it and what it names for new."""
    there = store.get(key)
    with contextlib.suppress(PointerMoved):  # another run has just done the same
        store.swap(key, there.data, expected=there.etag)


def promote(store: Store, dataset: str, candidates: dict[str, str], run: dict[str, Any], notes: tuple[Note, ...] = ()) -> Release:
    """Make the next release: LATEST with the candidates' partitions replaced. Returns the release that holds them.

    Args:
        candidates: partition key -> manifest digest.
        run: who promotes; stored with the release.
        notes: what people should know about these partitions.
    """
    return publish(store, dataset, lambda partitions: {**partitions, **candidates}, run, notes)


def publish(store: Store, dataset: str, change: Change, run: dict[str, Any], notes: tuple[Note, ...] = ()) -> Release:
    """Apply a change of the partition list to LATEST and publish the outcome.

    `change` is applied again after each lost race, to the then newest list; an error it raises leaves everything as it was.
    Raises `PublicationContended` after `TRIES` lost races.
    """
    require_conditional_writes(store)
    for attempt in range(TRIES):
        current = latest(store, dataset)
        wanted = _next(dataset, current, change, notes)
        if current is not None and wanted.digest == current.release.digest and set(notes) <= set(current.release.notes):
            return current.release
        if _try_publish(store, wanted, current, run):
            return wanted
        time.sleep(random.uniform(0, 0.01) * min(attempt + 1, 20))  # noqa: S311 - spreads racing writers, guards nothing
    raise PublicationContended(
        f"{store.uri}/{dataset}",
        found=f"{TRIES} lost races",
        expected="a turn",
        remedy="Try again; lower the number of parallel runs.",
    )


def _next(dataset: str, current: Latest | None, change: Change, notes: tuple[Note, ...]) -> Release:
    old = Release(dataset=dataset, number=0, parent=None, partitions={}) if current is None else current.release
    partitions = change(dict(old.partitions))
    kept = [note for note in (*old.notes, *notes) if partitions.get(note.partition) == note.manifest]
    return replace(
        old,
        number=old.number + 1,
        parent=None if current is None else old.number,
        partitions=partitions,
        notes=tuple(dict.fromkeys(kept)),
    )


def _try_publish(store: Store, wanted: Release, current: Latest | None, run: dict[str, Any]) -> bool:
    expected = None if current is None else current.etag
    key = layout.release(wanted.dataset, wanted.number)
    try:
        store.put_new(key, to_bytes(wanted.document(run)))
    except AlreadyThere:
        _help(store, wanted.dataset, wanted.number, expected)
        return False
    return _point(store, wanted, expected)


def _help(store: Store, dataset: str, number: int, expected: str | None) -> None:
    """Move the pointer for a release that was written whole but whose writer has not (or never will have) moved it."""
    waiting = release_numbered(store, dataset, number)
    if waiting is not None:
        _point(store, waiting, expected)


def _point(store: Store, release: Release, expected: str | None) -> bool:
    pointer = Pointer(number=release.number, digest=release.digest).to_bytes()
    try:
        store.swap(layout.pointer(release.dataset), pointer, expected=expected)
    except PointerMoved:
        # A helper moved it, or our own answer was lost. Numbers are taken create-only and the pointer only ever goes one up, so a
        # pointer at or above our number means that our release is in use or was.
        current = latest(store, release.dataset)
        return current is not None and current.release.number >= release.number
    return True
