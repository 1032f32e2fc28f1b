"""What a distance usually is on such a day: the data's own null, beside the one of independent rows.

Rows are rarely independent (entities, days), and a Monday is not a Sunday. So the distances of earlier days of the same weekday
set a second bar: a column only alarms when it also lies above their 99 % point. It needs twenty such days; fewer say nothing,
and then the gates alone decide. It learns what is usual, not what is right: a fault that has always been there is usual.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final

from headrace.quality.verdict import Verdict

MINIMUM_DAYS: Final = 20
QUANTILE: Final = 0.99


def usual_bars(earlier: Iterable[Verdict], *, like: date) -> dict[str, float]:
    """By check id, the debiased PSI that days of this weekday stay below; checks with too few such days are left out.

    This is what `judge` takes as `usual`. Give the verdicts of days that were released, so that a held day does not become
    usual unless a person approved it. Verdicts without a partition that is a date, and `like` itself, are left out.
    """
    found: dict[str, list[float]] = {}
    for verdict in earlier:
        day = _day(verdict.about)
        if day is None or day == like or day.weekday() != like.weekday():
            continue
        for check in verdict.checks:
            value = check.numbers.get("psi_debiased")
            if isinstance(value, float):
                found.setdefault(check.id, []).append(value)
    bars = {check: usual_bar(values) for check, values in found.items()}
    return {check: bar for check, bar in bars.items() if bar is not None}


def _day(about: Mapping[str, str]) -> date | None:
    try:
        return date.fromisoformat(about.get("partition", ""))
    except ValueError:
        return None


def usual_bar(values: Sequence[float], *, quantile: float = QUANTILE, minimum: int = MINIMUM_DAYS) -> float | None:
    """The smallest value with at least that share of values at or below it; None with too few."""
    if len(values) < minimum:
        return None
    return sorted(values)[math.ceil(quantile * len(values)) - 1]
