"""When each partition was last read again byte by byte, and what came of it: one small document a dataset, changed by compare-and-swap.

Written by the nightly maintenance, read by people. It covers the partitions of the release that was in use that night, each under the
manifest that was read: another manifest of the same day was not verified by it. It is a record, not a proof; a damaged one is begun anew,
and the nights fill it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing, PointerMoved
from headrace.lake.store import Store
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.errors import DocumentRefused, PublicationContended
from headrace.runs.night import RELEASE, Verified
from headrace.spec.canonical import instant_text

_TRIES: Final = 10


@dataclass(frozen=True, kw_only=True)
class Look:
    """One partition as it was last read: under which manifest, when (an instant's text), what was wrong (None: nothing)."""

    manifest: str
    at: str
    wrong: str | None = None


def after_night(before: Mapping[str, Look], found: Verified, at: datetime) -> dict[str, Look]:
    """The looks after a night, by partition, in order. What the release does not hold any more is forgotten."""
    if not found.release:
        return dict(before)  # the release could not be read: nothing below it is known
    broken, time = found.broken, instant_text(at)
    seen = {
        name: Look(manifest=found.release[name], at=time, wrong=broken.get(name)) for name in found.partitions if name != RELEASE
    }
    kept = {name: look for name, look in before.items() if name in found.release}
    return dict(sorted({**kept, **seen}.items()))


def keep_night(lake: Store, dataset: str, found: Verified, at: datetime) -> None:
    """Write down what a night saw. Raises `PublicationContended` when others were first `_TRIES` times."""
    key = layout.verified(dataset)
    for _ in range(_TRIES):
        before, etag = _stored(lake, dataset)
        after = after_night({} if before is None else before, found, at)
        if after == before or (before is None and not after):
            return
        document = Document(content={"partitions": {name: asdict(look) for name, look in after.items()}}, run={})
        try:
            lake.swap(key, to_bytes(document), expected=etag)
        except PointerMoved:
            continue
        return
    raise PublicationContended(f"{lake.uri}/{key}", found=f"{_TRIES} lost races", expected="a turn", remedy="Try again.")


def read_looks(lake: Store, dataset: str) -> dict[str, Look]:
    """What is known, by partition; empty where nothing was ever verified, or where what was written cannot be read."""
    return _stored(lake, dataset)[0] or {}


def _stored(lake: Store, dataset: str) -> tuple[dict[str, Look] | None, str | None]:
    """The looks, None when there are none that can be read, and the ETag of what is there."""
    key = layout.verified(dataset)
    try:
        body = lake.get(key)
    except ObjectMissing:
        return None, None
    try:
        found = from_bytes(f"{lake.uri}/{key}", body.data).content["partitions"]
        return {name: Look(**fields) for name, fields in found.items()}, body.etag
    except (DocumentRefused, KeyError, TypeError, AttributeError):
        return None, body.etag
