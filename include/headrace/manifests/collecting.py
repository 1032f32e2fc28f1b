"""What a collection is about to remove, said before it removes it, and asked by whoever relies on what was there already.

A writer may find an old shard that it needs, reachable by nothing, just when `gc` is going to remove it. So each says what it does before
it looks at what the other does: a collection stores the list of what it will remove and then looks once more at the manifests; a writer
stores its manifest, which keeps all it names, and then looks at the lists. Whatever the order of their steps, one of them sees the other.
Needs a store that lists what was just written, as S3 and a local folder do.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import lacking
from headrace.lake.store import Store
from headrace.manifests.errors import CollectionUnderWay, DataGone
from headrace.manifests.manifest import Manifest
from headrace.spec.canonical import canonical_json

_FORGOTTEN_AFTER: Final = timedelta(days=1)


@contextmanager
def announced(store: Store, dataset: str, keys: Iterable[str], *, now: datetime) -> Iterator[None]:
    """What is under way in the block will remove some of these keys.

    Args:
        now: by the store's clock; lists that are a day older were left behind by collections that were killed, and go.
    """
    for info in list(store.list(layout.collections(dataset))):
        if info.modified < now - _FORGOTTEN_AFTER:
            store.delete(info.key)
    own = layout.collection(dataset, uuid.uuid4().hex)
    store.put_new(own, canonical_json({"format": 1, "removes": sorted(keys)}))
    try:
        yield
    finally:
        store.delete(own)


def require_kept(store: Store, manifest: Manifest) -> None:
    """To be asked after the manifest is stored: that all it names is there, and that no collection is going to remove any of it.

    Raises:
        CollectionUnderWay: a collection that began before has some of it on its list.
        DataGone: some of it is not there, or not in full length.
    """
    require_not_doomed(store, manifest)
    gone = objects_gone(store, manifest)
    if gone:
        raise DataGone(
            f"{manifest.dataset} {manifest.partition}",
            found=f"{len(gone)} of its {len(_named(manifest))} objects not there in full length, such as {gone[0]}",
            expected="all of them",
            remedy="Clear the run from its first task: what is missing is written again.",
        )


def objects_gone(store: Store, manifest: Manifest) -> list[str]:
    """Keys of the manifest's shards and index files that are not there in full length."""
    return lacking(store, _named(manifest).items())


def require_not_doomed(store: Store, manifest: Manifest) -> None:
    """The first half of `require_kept`. Raises `CollectionUnderWay`."""
    require_no_collection(store, manifest.dataset, manifest.partition, _named(manifest).keys())


def require_no_collection(store: Store, dataset: str, what: str, keys: Set[str]) -> None:
    """No collection is going to remove one of these keys, which `what` needs. Raises `CollectionUnderWay`."""
    for info in store.list(layout.collections(dataset)):
        doomed = sorted(keys & _removes(store, info.key))
        if doomed:
            raise CollectionUnderWay(
                f"{dataset} {what}",
                found=f"a collection that may remove {len(doomed)} objects it needs, such as {doomed[0]}",
                expected="none while it is published",
                remedy=f"Try again when `headrace gc` has ended; if it was killed, delete {store.uri}/{info.key}.",
            )


def _named(manifest: Manifest) -> dict[str, int]:
    """Size of each object the manifest names, by key."""
    sizes = {layout.shard(manifest.dataset, shard.sha256): shard.size_bytes for shard in manifest.shards}
    return sizes | {layout.index(manifest.dataset, entry.sha256): entry.size_bytes for entry in manifest.index}


def _removes(store: Store, key: str) -> set[str]:
    try:
        return set(json.loads(store.get(key).data)["removes"])
    except ObjectMissing:  # it has ended: what it removed is missed below
        return set()
