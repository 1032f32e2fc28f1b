"""Small documents that several runs change: read, a pure step, compare-and-swap; the step is taken again on the newer state when another
run was first, so nobody's change is lost.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from headrace.lake.errors import ObjectMissing, PointerMoved
from headrace.lake.store import Store
from headrace.manifests.errors import PublicationContended

TRIES: Final = 100

T = TypeVar("T")


def change_document(
    lake: Store, key: str, step: Callable[[T], T], *, read: Callable[[bytes | None], T], write: Callable[[T], bytes]
) -> T:
    """Apply a pure step to the state of a document and return the state after it. A step that changes nothing writes nothing.

    Args:
        read: the state in the document's bytes, or where there is none (None).
        write: the inverse.

    Raises:
        PublicationContended: other runs were first `TRIES` times.
    """
    for attempt in range(TRIES):
        data, etag = stored(lake, key)
        before = read(data)
        after = step(before)
        if after == before:
            return before
        try:
            lake.swap(key, write(after), expected=etag)
        except PointerMoved:
            time.sleep(random.uniform(0, 0.01) * min(attempt + 1, 20))  # noqa: S311 - spreads racing writers, guards nothing
            continue
        return after
    raise PublicationContended(f"{lake.uri}/{key}", found=f"{TRIES} lost races", expected="a turn", remedy="Try again.")


def stored(lake: Store, key: str) -> tuple[bytes | None, str | None]:
    """(the bytes, the ETag) of a document; None twice where there is none."""
    try:
        body = lake.get(key)
    except ObjectMissing:
        return None, None
    return body.data, body.etag
