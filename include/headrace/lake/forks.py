"""obstore's runtime does not survive a fork.

A forked child that uses it hangs, and hangs its parent with it: they share one epoll instance. So a process whose ancestor has
used it goes through boto3, whose clients are made anew after a fork.
"""

from __future__ import annotations

import os
from typing import Final

_runtime_of: Final[set[int]] = set()
"""Processes that have started obstore's runtime: this one, or those it was forked from."""


def may_use_obstore() -> bool:
    """Whether this process may start, or has started, obstore's runtime."""
    if not _runtime_of:
        _runtime_of.add(os.getpid())
    return os.getpid() in _runtime_of
