"""Percentiles by nearest rank: each is a value that occurred. With fewer than 100 values p99 is the greatest; that is said, not hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Percentiles:
    """Of `count` values."""

    p50: float
    p95: float
    p99: float
    count: int


def percentiles(values: Iterable[float]) -> Percentiles | None:
    """p50, p95 and p99; None when there is no value."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Percentiles(p50=_rank(ordered, 50), p95=_rank(ordered, 95), p99=_rank(ordered, 99), count=len(ordered))


def _rank(ordered: list[float], percent: int) -> float:
    return ordered[-(-percent * len(ordered) // 100) - 1]
