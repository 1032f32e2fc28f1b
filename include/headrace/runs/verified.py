"""When each partition was last read again byte by byte, and what came of it: one small document a dataset, changed by compare-and-swap.

Written by the nightly maintenance and by `headrace verify`, read by people. It covers the partitions of the release that was in use then,
each under the manifest that was read: another manifest of the same day was not verified by it. It is a record, not a proof; a damaged one
is begun anew, and the nights fill it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.change import change_document
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.release import Release
from headrace.runs.night import RELEASE, Verified
from headrace.shards.verify import Finding
from headrace.spec.canonical import instant_text


@dataclass(frozen=True, kw_only=True)
class Look:
    """One partition as it was last read: under which manifest, when (an instant's text), what was wrong (None: nothing)."""

    manifest: str
    at: str
    wrong: str | None = None


def by_hand(read: Release, partitions: Collection[str], findings: Collection[Finding], *, in_use: Release) -> Verified:
    """What reading `partitions` of any release says of the release in use: nothing of those it holds under another manifest."""
    same = {name for name in partitions if in_use.partitions.get(name) == read.partitions[name]}
    mine = tuple(one for one in findings if one.partition in same)
    return Verified(partitions=tuple(sorted(same)), release=in_use.partitions, findings=mine)


def looks_after(before: Mapping[str, Look], found: Verified, at: datetime) -> dict[str, Look]:
    """The looks after more was read, by partition, in order. What the release does not hold any more is forgotten."""
    if not found.release:
        return dict(before)  # the release could not be read: nothing below it is known
    broken, time = found.broken, instant_text(at)
    seen = {
        name: Look(manifest=found.release[name], at=time, wrong=broken.get(name)) for name in found.partitions if name != RELEASE
    }
    kept = {name: look for name, look in before.items() if name in found.release}
    return dict(sorted({**kept, **seen}.items()))


def keep_looks(lake: Store, dataset: str, found: Verified, at: datetime) -> None:
    """Write down what was read. Raises `PublicationContended` when others were always first."""
    key = layout.verified(dataset)
    step = partial(looks_after, found=found, at=at)
    change_document(lake, key, step, read=partial(_looks, f"{lake.uri}/{key}"), write=_bytes)


def read_looks(lake: Store, dataset: str) -> dict[str, Look]:
    """What is known, by partition; empty where nothing was ever verified, or where what was written cannot be read."""
    key = layout.verified(dataset)
    try:
        return _looks(f"{lake.uri}/{key}", lake.get(key).data)
    except ObjectMissing:
        return {}


def damaged_looks(looks: Mapping[str, Look]) -> list[str]:
    """The partitions that were damaged when they were last read, in order."""
    return sorted(name for name, look in looks.items() if look.wrong is not None)


def _looks(where: str, data: bytes | None) -> dict[str, Look]:
    if data is None:
        return {}
    try:
        return {name: Look(**fields) for name, fields in from_bytes(where, data).content["partitions"].items()}
    except (DocumentRefused, KeyError, TypeError, AttributeError):
        return {}


def _bytes(looks: Mapping[str, Look]) -> bytes:
    return to_bytes(Document(content={"partitions": {name: asdict(look) for name, look in looks.items()}}, run={}))
