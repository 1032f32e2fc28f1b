"""Tags: names that people give to releases, beside `LATEST`.

A tag is a pointer like `LATEST`, but only a person moves it, to any release that is there. Collections keep what tags name. As
`collecting.py` has it, the tag is written first and what it names is looked at then: a collection that did not see the tag is seen by us,
and the tag becomes what it was.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import FinalError
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.change import change_document, stored
from headrace.manifests.collecting import require_no_collection
from headrace.manifests.errors import CollectionUnderWay, NotPublished
from headrace.manifests.history import named_release, require_whole
from headrace.manifests.release import Pointer, Release

TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class TagRefused(FinalError, ValueError):
    """A text that cannot be a tag."""


def check_tag(tag: str) -> str:
    """The tag itself, if it may be one. Raises `TagRefused`."""
    taken = tag.upper() == "LATEST" or tag.lower() in layout.FOLDERS
    if taken or TAG.fullmatch(tag) is None:
        raise TagRefused(
            "tag",
            found=f"{tag!r}, which means something else in a lake" if taken else repr(tag),
            expected="letters, digits, `.`, `_` and `-`, starting with a letter or digit, at most 63",
            remedy="Choose another name.",
        )
    return tag


def tag_release(store: Store, dataset: str, tag: str, number: int | None = None) -> Release:
    """Let a tag name a release, whatever it named before; None: the release in use now. Returns the release.

    Raises:
        TagRefused: the name cannot be a tag.
        NotPublished: there is no such release, or something it needs is gone; the tag is as it was.
        CollectionUnderWay: `gc` is about to remove some of it; the tag is as it was.
    """
    key = layout.pointer(dataset, check_tag(tag))
    release = named_release(store, dataset, number)
    before, _ = stored(store, key)
    wanted = Pointer(number=release.number, digest=release.digest).to_bytes()
    _move(store, key, wanted)
    try:
        _require_kept(store, release)
    except (CollectionUnderWay, NotPublished):
        if before is None:
            store.delete(key)
        else:
            _move(store, key, before)
        raise
    return release


def remove_tag(store: Store, dataset: str, tag: str) -> None:
    """Forget a tag; its release stays until it is collected. Raises `TagRefused`, and `NotPublished` where there is no such tag."""
    key = layout.pointer(dataset, check_tag(tag))
    if store.head(key) is None:
        raise NotPublished(
            f"{dataset} {tag}", found="no such tag", expected="one that is there", remedy=f"See `headrace tag {dataset}`."
        )
    store.delete(key)


def _require_kept(store: Store, release: Release) -> None:
    """To be asked when the tag stands: no collection that began before takes away the release, and it is whole."""
    keys = {layout.release(release.dataset, release.number)}
    keys |= {layout.manifest(release.dataset, partition, digest) for partition, digest in release.partitions.items()}
    require_no_collection(store, release.dataset, f"release {release.number}", keys)
    named_release(store, release.dataset, release.number)
    require_whole(store, release)


def _move(store: Store, key: str, pointer: bytes) -> None:
    change_document(store, key, lambda _: pointer, read=lambda data: b"" if data is None else data, write=bytes)
