"""Figures and states as a reader wants them. Everything that reaches the page is escaped here or by its caller."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from headrace.quality.ruling import State, percent

NONE: Final = "\N{EN DASH}"
"""What stands where there is no figure."""

# One shape per state, so that nothing depends on colour alone; drawn, because fonts differ in what they can draw.
_SHAPES: Final[dict[State, str]] = {
    "ok": '<circle cx="8" cy="8" r="7"/><path class="mark" d="M4.6 8.3l2.3 2.3 4.5-5"/>',
    "insufficient": '<circle class="ring" cx="8" cy="8" r="6.2"/><path class="ink" d="M8 4.2v4.2l2.6 1.6"/>',
    "warning": '<path d="M8 1.2l7 13H1z"/><path class="mark" d="M8 6v4M8 11.9v.6"/>',
    "failed": '<rect x="1" y="1" width="14" height="14" rx="3"/><path class="mark" d="M5 5l6 6M11 5l-6 6"/>',
    "not run": '<circle class="ring" cx="8" cy="8" r="6.2"/><path class="ink" d="M4 12L12 4"/>',
}
WORDS: Final[dict[State, str]] = {
    "ok": "OK",
    "insufficient": "Too little data",
    "warning": "Warning",
    "failed": "Failed",
    "not run": "Not run",
}


def css_class(state: State) -> str:
    return "s-" + state.replace(" ", "-")


def icon(state: State) -> str:
    """A 16-pixel drawing; its word always stands beside it or in its title."""
    return f'<svg class="icon {css_class(state)}" aria-hidden="true"><use href="#{css_class(state)}"/></svg>'


def drawings() -> str:
    """The shapes themselves, once per page."""
    symbols = "".join(f'<symbol id="{css_class(state)}" viewBox="0 0 16 16">{shape}</symbol>' for state, shape in _SHAPES.items())
    return f'<svg class="drawings" aria-hidden="true">{symbols}</svg>'


def badge(state: State) -> str:
    return f'<span class="badge {css_class(state)}">{icon(state)}{WORDS[state]}</span>'


def whole(value: Any) -> str:
    """`12,345`."""
    return f"{round(value):,}"


def name_of(text: str) -> str:
    """A column's or check's name that may break behind an underscore or a dot."""
    return escape(text).replace("_", "_<wbr>").replace(".", ".<wbr>")


def distance(value: Any) -> str:
    """`0.238`; a dash when there is none, 0 when it is 0."""
    return NONE if value is None else f"{max(float(value), 0.0):.3f}"


def change(before: Any, after: Any) -> str:
    """`0 % → 30.3 %`; a dash when the share is not watched."""
    if before is None or after is None:
        return NONE
    if before == after == 0:
        return "0 %"
    return f"{percent(before)} → {percent(after)}"


def figure(value: Any) -> str:
    """Any number of a verdict, as text."""
    if value is None:
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return whole(value) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return escape(str(value))
