"""Where the time went: bars of stages, a time line of tasks, and how stages spread over runs.

Drawn with the page's own boxes, so that words keep their size on a phone. Colour is never the only sign: every part has its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.pages import figures
from headrace.pages.html import Html, join, tag
from headrace.runs.percentiles import Percentiles


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
        cells.append(_row(row.label, parts, words, row.figure))
    used = dict.fromkeys(name for row in rows for name, seconds in row.parts.items() if seconds > 0)
    keys = [_key(f"background:var(--{_css(name)})", name) for name in used]
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
    cells = []
    for span in spans:
        colour = "read" if span.state == "success" else "failed"
        before, waited, took = (
            100 * value / whole for value in (span.start - span.waited - begin, span.waited, span.end - span.start)
        )
        parts = [
            tag("span", style=f"width:{before:.2f}%;min-width:0"),
            tag("span", style=f"width:{waited:.2f}%;min-width:0;background:var(--waiting)"),
            tag("span", style=f"width:{took:.2f}%;min-width:2px;background:var(--{colour})"),
        ]
        words = f"{span.state}, from {figures.seconds(span.start - begin)} to {figures.seconds(span.end - begin)}"
        cells.append(_row(span.name, parts, words, figures.seconds(span.end - span.start)))
    keys = [
        _key(f"background:var(--{colour})", word)
        for colour, word, shown in (
            ("read", "on a worker", any(span.state == "success" for span in spans)),
            ("failed", "on a worker, and failed", any(span.state != "success" for span in spans)),
            ("waiting", "waited, on no worker", any(span.waited > 0 for span in spans)),
        )
        if shown
    ]
    note = tag("p", f"{figures.seconds(whole)} from the first start to the last end.", class_="note")
    return join(tag("div", *cells, class_="bars"), tag("ul", *keys, class_="legend"), note)


def spread(rows: Mapping[str, Percentiles], *, of: str) -> Html:
    """p50, p95 and p99 of each row on one scale. `of`: what was counted, one and many, such as `run/runs`."""
    longest = max((found.p99 for found in rows.values()), default=0.0)
    one, many = of.split("/")
    cells = []
    for name, found in rows.items():
        marks = (
            ("p50", found.p50, found.p50),
            ("p95", found.p95, found.p95 - found.p50),
            ("p99", found.p99, found.p99 - found.p95),
        )
        parts = [
            tag(
                "span", style=f"width:{100 * width / longest:.2f}%", class_=f"s-{mark}", title=f"{mark}: {figures.seconds(value)}"
            )
            for mark, value, width in marks
            if longest > 0 and width > 0
        ]
        words = ", ".join(f"{mark} {figures.seconds(value)}" for mark, value, _ in marks)
        shown = tag(
            "span",
            *(tag("span", figures.seconds(value)) for _, value, _ in marks),
            tag("small", figures.plural(found.count, one, many)),
            class_="three",
        )
        cells.append(_row(name, parts, words, shown))
    heads = tag("span", *(tag("span", mark) for mark in ("p50", "p95", "p99")), tag("small"), class_="three")
    head = tag("div", tag("div"), tag("div"), tag("div", heads, class_="figure soft"), class_="bar", aria_hidden="true")
    keys = [tag("li", tag("span", class_=f"key s-{mark}"), word) for mark, word in _PERCENTILES.items()]
    return join(tag("div", head, *cells, class_="bars"), tag("ul", *keys, class_="legend"))


_PERCENTILES = {"p50": "half take at most this (p50)", "p95": "95 of 100 (p95)", "p99": "99 of 100 (p99)"}


def _row(label: object, parts: Sequence[Html], words: str, figure: object) -> Html:
    track = tag("div", *parts, class_="track", role="img", aria_label=words or "nothing")
    return tag("div", tag("div", label), track, tag("div", figure, class_="figure"), class_="bar")


def _key(style: str, word: str) -> Html:
    return tag("li", tag("span", class_="key", style=style), word)


def _css(name: str) -> str:
    """The colour's name: `waiting for inputs` is drawn as `waiting`, `the host` as `host`."""
    return {
        "waiting for inputs": "waiting",
        "the host": "host",
        "computing": "compute",
        "reading": "read",
        "writing": "write",
    }.get(name, name)
