"""Objects that were refused: kept, with the reason and what to do.

The record and a copy of the object's bytes lie in the lake under a name made of key and ETag, so that the object can be mended even
when the source has dropped it. Landing a corrected object changes its ETag; the next run reads it and only what it stood among.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.immutable import overwrite
from headrace.lake.store import Buffer, Store
from headrace.sources.errors import ObjectRefused
from headrace.sources.inventory import SourceObject, shown
from headrace.spec.canonical import canonical_json


@dataclass(frozen=True, kw_only=True)
class Quarantined:
    """One refused object, or (with `sample_id`) one sample that made a transform raise, with the traceback.

    `reason` is a short stable word for counting, the rest is for the person who mends it.
    """

    key: str
    etag: str
    size_bytes: int
    reason: str
    subject: str
    found: str
    expected: str
    remedy: str
    sample_id: str = ""
    traceback: str = ""

    @property
    def name(self) -> str:
        """The record's name: the sample's ID, or a hash of key and ETag, since keys may hold anything."""
        if self.sample_id != "":
            return self.sample_id
        return hashlib.sha256(f"{self.key}\0{self.etag}".encode(errors="surrogateescape")).hexdigest()[:32]


def quarantined(source: SourceObject, error: HeadraceError) -> Quarantined:
    """The record of an object that was refused with `error`."""
    return Quarantined(
        key=source.key,
        etag=source.etag,
        size_bytes=source.size_bytes,
        reason=error.kind if isinstance(error, ObjectRefused) and error.kind else type(error).__name__,
        subject=shown(error.subject),
        found=shown(error.found),
        expected=error.expected,
        remedy=error.remedy,
    )


def keep(lake: Store, dataset: str, partition: str, item: Quarantined, data: Buffer | None) -> None:
    """Store the record and, when there are any, the object's bytes."""
    base = layout.quarantine(dataset, partition) + item.name
    if data is not None:
        overwrite(lake, base + ".bytes", bytes(data))
    overwrite(lake, base + ".json", canonical_json(asdict(item)))


def records(lake: Store, dataset: str, partition: str) -> Iterator[Quarantined]:
    """Every record of a partition, those of earlier runs among them, in the order of their names."""
    for info in lake.list(layout.quarantine(dataset, partition)):
        if info.key.endswith(".json"):
            fields: dict[str, Any] = json.loads(lake.get(info.key).data)
            fields.pop("kind", None)
            yield Quarantined(**fields)
