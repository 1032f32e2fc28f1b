"""Drawings as plain SVG shapes placed in percent, with their text outside: they follow the width of a phone or a wall.

Wide pale bars are the reference, narrow strong bars this data, on the reference's own quantile cells. There, equal data
gives equal heights whatever the skew of the variable, where equal-width bins would show one tall bar and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from headrace.quality.measurement import Histogram

_TICKS_PER_DECADE = (1, 2, 5)


def bars(histogram: Histogram, *, height: int) -> str:
    """The overlay of both sides, `height` pixels high, full width."""
    before, after = _shares(histogram.reference), _shares(histogram.sample)
    keep = [i for i in range(len(before)) if before[i] > 0 or after[i] > 0]
    if not keep:
        return ""
    tallest = max(max(before), max(after))
    slot = 100 / len(keep)
    drawn = [
        _bar(x * slot + slot * 0.06, slot * 0.88, before[i] / tallest, height, "ref")
        + _bar(x * slot + slot * 0.29, slot * 0.42, after[i] / tallest, height, _sample_class(histogram.cells[i]))
        for x, i in enumerate(keep)
    ]
    return f'<svg class="bars" height="{height}" role="img" aria-label="reference and this data, by cell">{"".join(drawn)}</svg>'


def _shares(counts: tuple[float, ...]) -> list[float]:
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def _sample_class(cell: str) -> str:
    # Missing, infinite, other and new are no values of the variable: drawn in another tone.
    return "odd" if cell.startswith("(") else "new"


def _bar(x: float, width: float, share: float, height: int, kind: str) -> str:
    tall = max(round(share * (height - 1), 1), 1.0 if share > 0 else 0.0)
    return f'<rect class="{kind}" x="{x:.2f}%" width="{width:.2f}%" y="{height - tall:.1f}" height="{tall:.1f}" rx="1"/>'


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A logarithmic axis of shares from `low` to `high`, both above 0."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Position in percent; values outside sit at the ends."""
        inside = min(max(value, self.low), self.high)
        return 100 * math.log(inside / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = [step * 10.0**decade for decade in decades for step in _TICKS_PER_DECADE]
        inside = [tick for tick in steps if self.low <= tick <= self.high]
        decades_only = [tick for tick in inside if math.isclose(math.log10(tick), round(math.log10(tick)), abs_tol=1e-9)]
        return inside if len(inside) <= 7 else decades_only


def axis_for(values: list[float]) -> Axis:
    """An axis that shows all positive values with room at both ends."""
    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (0.001, 1.0)
    return Axis(low=max(low / 1.5, 1e-9), high=min(high * 1.5, 1.0) if high * 1.5 > low else 1.0)


def interval(axis: Axis, value: float, low: float, high: float, kind: str) -> str:
    """A dot with its interval on the axis."""
    grid = "".join(f'<line class="grid" x1="{axis.at(t):.2f}%" x2="{axis.at(t):.2f}%" y1="0" y2="22"/>' for t in axis.ticks())
    left, right, dot = axis.at(low), axis.at(high), axis.at(value)
    return (
        f'<svg class="track" height="22" aria-hidden="true">{grid}'
        f'<line class="span {kind}" x1="{left:.2f}%" x2="{right:.2f}%" y1="11" y2="11"/>'
        f'<circle class="dot {kind}" cx="{dot:.2f}%" cy="11" r="5"/></svg>'
    )
