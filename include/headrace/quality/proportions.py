"""Shares of rows: intervals that hold for rare events, and the test that two shares are equal.

Wilson and Clopper-Pearson intervals, never Wald: at a true share of 0.5 % and 200 rows, Wald's 95 % interval holds in 63 % of
cases, Wilson's in 92 %, Clopper-Pearson's in 98 %. The two-sample test is Pearson's chi-square without continuity correction
for large counts and the exact test (twice the smaller tail) when an expected count is below 5.
"""

from __future__ import annotations

import math
from typing import Final

from scipy.special import betaincinv, ndtri

from headrace.quality.hypergeometric import two_sided_p

_EXACT_BELOW: Final = 5.0  # expected count under which the chi-square approximation is not trusted
_CLOPPER_PEARSON_BELOW: Final = 10  # positives


def wilson(positives: float, rows: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson 1927); `rows` above 0, effective counts allowed."""
    z = float(ndtri(0.5 + confidence / 2))
    share = positives / rows
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    low = 0.0 if positives == 0 else max(0.0, centre - half)
    high = 1.0 if positives == rows else min(1.0, centre + half)
    return low, high


def clopper_pearson(positives: int, rows: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The exact (conservative) binomial interval (Clopper and Pearson 1934); `rows` above 0."""
    tail = (1 - confidence) / 2
    low = 0.0 if positives == 0 else float(betaincinv(positives, rows - positives + 1, tail))
    high = 1.0 if positives == rows else float(betaincinv(positives + 1, rows - positives, 1 - tail))
    return low, high


def share_interval(positives: int, rows: int, *, confidence: float = 0.95) -> tuple[float, float, str]:
    """(low, high, method): Clopper-Pearson when positives are few, else Wilson."""
    if positives < _CLOPPER_PEARSON_BELOW:
        return (*clopper_pearson(positives, rows, confidence=confidence), "Clopper-Pearson")
    return (*wilson(positives, rows, confidence=confidence), "Wilson")


def two_share_p(first: float, first_rows: float, second: float, second_rows: float) -> float:
    """Two-sided p-value of equal shares. Both `rows` above 0; effective (non-integer) counts use the chi-square test."""
    pooled = (first + second) / (first_rows + second_rows)
    if pooled in (0.0, 1.0):
        return 1.0
    expected = min(first_rows, second_rows) * min(pooled, 1 - pooled)
    counts = (first, first_rows - first, second, second_rows - second)
    if expected < _EXACT_BELOW and all(float(count).is_integer() for count in counts):
        return two_sided_p((int(counts[0]), int(counts[1])), (int(counts[2]), int(counts[3])))
    difference = first / first_rows - second / second_rows
    variance = pooled * (1 - pooled) * (1 / first_rows + 1 / second_rows)
    return math.erfc(abs(difference) / math.sqrt(2 * variance))
