"""Reading what is published: pointer, release, manifest, each checked on the way."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Final

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes
from headrace.manifests.errors import DocumentRefused, NotPublished
from headrace.manifests.manifest import Manifest, manifest_from
from headrace.manifests.release import Pointer, Release

_FEW: Final = 4


@dataclass(frozen=True, kw_only=True)
class Latest:
    """The release a pointer names, and the pointer's ETag for a compare-and-swap."""

    release: Release
    etag: str


def latest(store: Store, dataset: str, tag: str = "LATEST") -> Latest | None:
    """What the pointer names now; None when the dataset has never been published."""
    key = layout.pointer(dataset, tag)
    try:
        body = store.get(key)
    except ObjectMissing:
        return None
    pointer = Pointer.from_bytes(f"{store.uri}/{key}", body.data)
    return Latest(release=_named(store, dataset, pointer), etag=body.etag)


def published(store: Store, dataset: str, tag: str = "LATEST") -> Release:
    """The release a pointer names. Raises `NotPublished` when there is none."""
    found = latest(store, dataset, tag)
    if found is None:
        raise NotPublished(
            f"{store.uri}/{dataset}",
            found="no release",
            expected=f"a release named {tag}",
            remedy="Run the dataset's DAG first; `headrace ls` names the datasets there are.",
        )
    return found.release


def pointers(store: Store, dataset: str) -> dict[str, Pointer]:
    """What `LATEST` and each tag name: the objects that lie directly in the dataset's folder."""
    found = {}
    for info in store.list(f"{dataset}/"):
        name = info.key.removeprefix(f"{dataset}/")
        if "/" not in name:
            with contextlib.suppress(ObjectMissing):  # a tag removed just now
                found[name] = Pointer.from_bytes(f"{store.uri}/{info.key}", store.get(info.key).data)
    return found


def release_numbered(store: Store, dataset: str, number: int) -> Release | None:
    """One release by its number, None when there is none."""
    key = layout.release(dataset, number)
    try:
        data = store.get(key).data
    except ObjectMissing:
        return None
    where = f"{store.uri}/{key}"
    return Release.from_document(where, from_bytes(where, data))


def manifest_of(store: Store, release: Release, partition: str) -> Manifest:
    """The manifest of one partition of a release. Raises `NotPublished` for a partition the release lacks."""
    digest = release.partitions.get(partition)
    if digest is None:
        raise NotPublished(
            f"{release.dataset} release {release.number}",
            found=f"no partition {partition}",
            expected=f"one of its partitions, {_some(sorted(release.partitions))}",
            remedy="Run that partition first.",
        )
    return read_manifest(store, release.dataset, partition, digest)


def read_manifest(store: Store, dataset: str, partition: str, digest: str) -> Manifest:
    """A manifest by digest, promoted or not. Raises `DocumentRefused` when the bytes are not the ones named."""
    key = layout.manifest(dataset, partition, digest)
    where = f"{store.uri}/{key}"
    document = from_bytes(where, store.get(key).data)
    if document.digest != digest:
        raise _other(where, document.digest, digest)
    return manifest_from(where, document)


def _some(names: list[str]) -> str:
    """All of a few, else the first and the last of many."""
    return ", ".join(names) or "of which there are none" if len(names) <= _FEW else f"{len(names)} from {names[0]} to {names[-1]}"


def _named(store: Store, dataset: str, pointer: Pointer) -> Release:
    release = release_numbered(store, dataset, pointer.number)
    where = f"{store.uri}/{layout.release(dataset, pointer.number)}"
    if release is None:
        raise _other(where, "no release", pointer.digest)
    if release.digest != pointer.digest:
        raise _other(where, release.digest, pointer.digest)
    return release


def _other(where: str, found: str, expected: str) -> DocumentRefused:
    return DocumentRefused(where, found=found, expected=f"digest {expected}", remedy="The object was altered: restore it.")
