"""Drawings as plain SVG shapes placed in percent, with their text outside: they follow the width of a phone or a wall.

Wide pale bars are the reference, narrow strong bars this data, on the reference's own quantile cells. There, equal data
gives equal heights whatever the skew of the variable, where equal-width bins would show one tall bar and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from headrace.quality.measurement import Histogram

_DIGITS: Final = (1, 2, 5, 3, 4, 6, 7, 8, 9)
_LABEL_ROOM: Final = 12  # percent of the axis
_WIDTH: Final = 1000  # units across a chart


def bars(histogram: Histogram, *, height: int) -> str:
    """The overlay of both sides, `height` pixels high, full width; three paths, whatever the number of cells."""
    before, after = _shares(histogram.reference), _shares(histogram.sample)
    keep = [i for i in range(len(before)) if before[i] > 0 or after[i] > 0]
    if not keep:
        return ""
    slot, scale = _WIDTH / len(keep), (height - 1) / max(*before, *after)
    paths = {"ref": "", "new": "", "odd": ""}
    for place, i in enumerate(keep):
        # Missing, infinite, other and new are no values of the variable: drawn in another tone.
        kind = "odd" if histogram.cells[i].startswith("(") else "new"
        paths["ref"] += _bar((place + 0.06) * slot, slot * 0.88, before[i] * scale, height)
        paths[kind] += _bar((place + 0.29) * slot, slot * 0.42, after[i] * scale, height)
    drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
    box = f'viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none"'
    return f'<svg class="bars" height="{height}" {box} role="img" aria-label="reference and this data, by cell">{drawn}</svg>'


def curve(histogram: Histogram, horizon: float, *, height: int) -> str:
    """Shares (the first side) by age (the cells) as a line in the band of their margins (the second side), `height` pixels high.

    A dashed line stands at the horizon. From 0 % at the bottom to 100 % at the top; the words stand outside.
    """
    ages = [float(cell) for cell in histogram.cells]
    across = [_WIDTH * age / ages[-1] for age in ages]
    middle, margin = histogram.reference, histogram.sample
    over = [(x, min(1.0, share + half)) for x, share, half in zip(across, middle, margin, strict=True)]
    under = [(x, max(0.0, share - half)) for x, share, half in zip(across, middle, margin, strict=True)]
    line, band = _path(zip(across, middle, strict=True), height), _path([*over, *reversed(under)], height)
    at = _WIDTH * min(horizon / ages[-1], 1.0)
    box = f'viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none"'
    return (
        f'<svg class="curve" height="{height}" {box} role="img" aria-label="share of positive labels known, by age">'
        f'<path class="floor" d="M0 {height}H{_WIDTH}M0 0H{_WIDTH}"/><path class="band" d="{band}z"/><path class="line" d="{line}"/>'
        f'<path class="horizon" d="M{at:.0f} 0V{height}"/></svg>'
    )


def _path(points: Iterable[tuple[float, float]], height: int) -> str:
    return "M" + "L".join(f"{x:.0f} {height * (1 - share):.1f}" for x, share in points)


def _shares(counts: tuple[float, ...]) -> list[float]:
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def _bar(x: float, width: float, tall: float, height: int) -> str:
    if tall == 0:
        return ""
    drawn = round(max(tall, 1.0), 1)  # what is there is seen, however little
    return f"M{x:.0f} {height}v-{drawn:g}h{width:.0f}v{drawn:g}z"


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
        """Round shares whose labels have room beside each other on a phone: decades first, then 2 and 5, then every digit."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        shown: list[float] = []
        for digit in _DIGITS:
            for tick in (digit * 10.0**decade for decade in decades):
                room = all(abs(self.at(tick) - self.at(other)) >= _LABEL_ROOM for other in shown)
                if self.low <= tick <= self.high and room:
                    shown.append(tick)
        return sorted(shown)


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
