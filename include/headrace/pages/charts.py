"""Where the time went: bars of stages and a time line of tasks. Colour is never the only sign: every part has its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.pages import figures
from headrace.pages.html import Html, join, tag

_ROW: Final = 26
_NAMES: Final = 150  # units kept for the names, of 1000 across
_WIDTH: Final = 1000


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A labelled bar of parts, in seconds by CSS name; `figure` stands behind it."""

    label: object
    parts: Mapping[str, float]
    figure: object


def bars(rows: Sequence[Bar]) -> Html:
    """Bars on one scale, and the words for their colours."""
    longest = max((sum(row.parts.values()) for row in rows), default=0.0)
    cells = []
    for row in rows:
        parts = [
            tag(
                "span",
                style=f"width:{100 * seconds / longest:.2f}%;background:var(--{_css(name)})",
                title=f"{name}: {figures.seconds(seconds)}",
            )
            for name, seconds in row.parts.items()
            if seconds > 0 and longest > 0
        ]
        words = ", ".join(f"{name} {figures.seconds(seconds)}" for name, seconds in row.parts.items() if seconds > 0)
        track = tag("div", *parts, class_="track", role="img", aria_label=words or "nothing")
        cells.append(tag("div", tag("div", row.label), track, tag("div", row.figure, class_="figure"), class_="bar"))
    used = dict.fromkeys(name for row in rows for name, seconds in row.parts.items() if seconds > 0)
    keys = [tag("li", tag("span", class_="key", style=f"background:var(--{_css(name)})"), name) for name in used]
    return join(tag("div", *cells, class_="bars"), tag("ul", *keys, class_="legend"))


@dataclass(frozen=True, kw_only=True)
class Span:
    """One task on the time line: seconds from the run's start."""

    name: str
    start: float
    end: float
    waited: float
    state: str


def timeline(spans: Sequence[Span]) -> Html:
    """When each task ran; what it waited before stands pale in front of it."""
    begin = min(span.start - span.waited for span in spans)
    whole = max(max(span.end for span in spans) - begin, 0.001)
    scale = (_WIDTH - _NAMES - 90) / whole
    height = _ROW * len(spans) + 18
    drawn = []
    for place, span in enumerate(spans):
        y = place * _ROW + 4
        x = _NAMES + (span.start - begin) * scale
        width = max((span.end - span.start) * scale, 2)
        if span.waited > 0:
            drawn.append(
                tag(
                    "rect",
                    x=f"{x - span.waited * scale:.1f}",
                    y=y + 5,
                    width=f"{span.waited * scale:.1f}",
                    height=6,
                    fill="var(--waiting)",
                )
            )
        colour = "var(--failed)" if span.state != "success" else "var(--read)"
        drawn += [
            tag("text", span.name, x=0, y=y + 13),
            tag("rect", x=f"{x:.1f}", y=y, width=f"{width:.1f}", height=16, rx=3, fill=colour),
            tag("text", figures.seconds(span.end - span.start), x=f"{x + width + 6:.1f}", y=y + 13, class_="soft"),
        ]
    axis = tag("text", f"{figures.seconds(whole)} from the first start to the last end", x=_NAMES, y=height - 2, class_="soft")
    return tag("svg", *drawn, axis, class_="gantt", viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label="When each task ran")


def _css(name: str) -> str:
    """The colour's name: `waiting for inputs` is drawn as `waiting`, `the host` as `host`."""
    return {
        "waiting for inputs": "waiting",
        "the host": "host",
        "computing": "compute",
        "reading": "read",
        "writing": "write",
    }.get(name, name)
