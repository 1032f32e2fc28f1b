"""When each partition was last read again byte by byte, and what came of it: one small document a dataset, changed by compare-and-swap.

Written by the nightly maintenance, read by people. It covers the partitions of the release that was in use that night, each under the
manifest that was read: another manifest of the same day was not verified by it. It is a record, not a proof; a damaged one is begun anew,
and the nights fill it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.change import change_document
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.manifests.errors import DocumentRefused
from headrace.runs.night import RELEASE, Verified
from headrace.spec.canonical import instant_text


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
    """Write down what a night saw. Raises `PublicationContended` when others were always first."""
    key = layout.verified(dataset)
    step = partial(after_night, found=found, at=at)
    change_document(lake, key, step, read=partial(_looks, f"{lake.uri}/{key}"), write=_bytes)


def read_looks(lake: Store, dataset: str) -> dict[str, Look]:
    """What is known, by partition; empty where nothing was ever verified, or where what was written cannot be read."""
    key = layout.verified(dataset)
    try:
        return _looks(f"{lake.uri}/{key}", lake.get(key).data)
    except ObjectMissing:
        return {}


def _looks(where: str, data: bytes | None) -> dict[str, Look]:
    if data is None:
        return {}
    try:
        return {name: Look(**fields) for name, fields in from_bytes(where, data).content["partitions"].items()}
    except (DocumentRefused, KeyError, TypeError, AttributeError):
        return {}


def _bytes(looks: Mapping[str, Look]) -> bytes:
    return to_bytes(Document(content={"partitions": {name: asdict(look) for name, look in looks.items()}}, run={}))
