"""Which partitions are verified on which night: all of them in turn, the same number every night, whatever was verified before.

A partition's turn follows from its name alone, so nights need not know of each other: a night that is missed leaves its share for its next
turn, and a new partition disturbs no other's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date


def share_of(partitions: Iterable[str], night: date, nights: int) -> list[str]:
    """The partitions whose turn it is on `night`, in order; over any `nights` nights in a row each has exactly one turn."""
    turn = night.toordinal() % nights
    return sorted(name for name in partitions if _place(name) % nights == turn)


def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
