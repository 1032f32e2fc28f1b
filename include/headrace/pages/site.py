"""What every runs page needs: the lake, addresses, declared prices, and the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headrace.pages.links import Links
from headrace.pages.reads import Reads
from headrace.runs.prices import Prices


@dataclass(frozen=True, kw_only=True)
class Site:
    """One person's visit. `prices` is None when nobody declared any; `now` has a zone."""

    reads: Reads
    links: Links
    prices: Prices | None
    now: datetime
