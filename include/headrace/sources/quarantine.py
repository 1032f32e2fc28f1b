"""Objects that were refused: kept, with the reason and what to do.

The record names the object, so that a corrected one can be landed and the partition run again; the object itself stays where it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from headrace.errors import HeadraceError
from headrace.sources.errors import ObjectRefused
from headrace.sources.inventory import SourceObject


@dataclass(frozen=True, kw_only=True)
class Quarantined:
    """One refused object. `reason` is a short stable word for counting, the rest is for the person who mends it."""

    key: str
    etag: str
    size_bytes: int
    reason: str
    subject: str
    found: str
    expected: str
    remedy: str

    @property
    def name(self) -> str:
        """The record's file name: a hash of the key, since keys may hold anything."""
        return hashlib.sha256(self.key.encode(errors="surrogateescape")).hexdigest()[:32] + ".json"


def quarantined(source: SourceObject, error: HeadraceError) -> Quarantined:
    """The record of an object that was refused with `error`."""
    return Quarantined(
        key=source.key,
        etag=source.etag,
        size_bytes=source.size_bytes,
        reason=error.kind if isinstance(error, ObjectRefused) and error.kind else type(error).__name__,
        subject=error.subject,
        found=error.found,
        expected=error.expected,
        remedy=error.remedy,
    )
