r"""One byte string per value: the canonical JSON that every digest in Headrace is taken over.

Keys sorted, no white space, UTF-8, no NaN or infinity, instants as ISO 8601 in UTC with microseconds. A byte of an object's key that is
not UTF-8 (a lone surrogate in Python) is `\udcNN`, so that such a key comes back as it was. Two processes that hold equal
values produce equal bytes. Fields marked `not_content()` (owner, schedule, prices: what runs it, not what it
holds) are left out, so that changing them changes no digest.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Any

_NOT_CONTENT = "headrace.not_content"


def not_content(**kwargs: Any) -> Any:
    """A dataclass field that does not take part in the declaration's digest."""
    return dataclasses.field(metadata={_NOT_CONTENT: True}, **kwargs)


def plain(value: Any) -> Any:
    """The value as JSON's own types. Raises TypeError for what has no canonical form (floats must be finite)."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        content = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value) if not f.metadata.get(_NOT_CONTENT)}
        return {"kind": type(value).__name__, **content}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, datetime):
        return instant_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return {"seconds": value // timedelta(seconds=1), "micros": value.microseconds}
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"no canonical form for {type(value).__name__}: {value!r}")


def instant_text(instant: datetime) -> str:
    """`2013-01-04T05:00:00.000000Z`. Raises TypeError for a naive instant: it names no moment."""
    if instant.tzinfo is None:
        raise TypeError(f"naive instant {instant!r}: give it a time zone")
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant_from(text: str) -> datetime:
    """The inverse of `instant_text`."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def canonical_json(value: Any) -> bytes:
    """Canonical JSON bytes of `value`. Raises ValueError for NaN or infinity."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="backslashreplace")  # of lone surrogates alone, and as JSON escapes them


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical JSON, lower-case hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
