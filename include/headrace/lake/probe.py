"""Does this store really have conditional writes?

Some stores accept `If-None-Match` and ignore it; publication on them would look safe and not be. So the first publication of a
process tries: a create-only write of a key that exists must be refused.
"""

from __future__ import annotations

import os
import uuid
from typing import Final

from headrace.lake.errors import AlreadyThere, NoConditionalWrites
from headrace.lake.store import Store

_proven: Final[set[tuple[int, str]]] = set()


def require_conditional_writes(store: Store) -> None:
    """Raise `NoConditionalWrites` unless the store refuses to overwrite on a create-only write. Asked once per process."""
    me = (os.getpid(), store.uri)
    if me in _proven:
        return
    key = f"probe/{uuid.uuid4().hex}"
    try:
        store.put_new(key, b"first")  # refused already when its answer was lost and the client asked again
        store.put_new(key, b"second")
    except AlreadyThere:
        _proven.add(me)
        return
    finally:
        store.delete(key)
    raise NoConditionalWrites(
        store.uri,
        found="a store that overwrote an object on a create-only write",
        expected="conditional writes (If-None-Match and If-Match on PUT)",
        remedy="Use another store for the lake: on this one two runs could overwrite each other's release.",
    )
