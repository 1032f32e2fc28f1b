"""HTML by construction: text is escaped unless it was made here, so a file name or an error can never become markup.

tag("a", "R&D <1>", href="/x")  ->  <a href="/x">R&amp;D &lt;1&gt;</a>
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

_VOID: Final = frozenset({"br", "hr", "img", "input", "meta", "col"})


class Html(str):
    """Markup that is safe to use as it is."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escaped text; markup stays; None is nothing."""
    if value is None:
        return Html("")
    return value if isinstance(value, Html) else Html(escape(str(value)))


def join(*parts: object) -> Html:
    """Parts one after another, escaped where they are text."""
    return Html("".join(text(part) for part in parts))


def separated(separator: str, parts: Iterable[object]) -> Html:
    """Parts with a text between them."""
    return Html(text(separator).join(text(part) for part in parts))


def join_all(parts: Iterable[object]) -> Html:
    return join(*parts)


def tag(element: str, /, *children: object, **attributes: object) -> Html:
    """An element. A trailing underscore in an attribute's name is dropped, others become hyphens; None leaves the attribute out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items() if value is not None
    )
    if element in _VOID:
        return Html(f"<{element}{shown}>")
    return Html(f"<{element}{shown}>{join(*children)}</{element}>")


def table(heads: Iterable[object], rows: Iterable[Iterable[object]], *, caption: str, numbers: Iterable[int] = ()) -> Html:
    """A table that may scroll sideways on a phone; columns in `numbers` (from 0) are set right."""
    right = set(numbers)
    titles = list(heads)

    def cell(kind: str, place: int, value: object) -> Html:
        return tag(kind, value, class_="n" if place in right else None, scope="col" if kind == "th" else None)

    head = tag("tr", *(cell("th", place, title) for place, title in enumerate(titles)))
    body = [tag("tr", *(cell("td", place, value) for place, value in enumerate(row))) for row in rows]
    made = tag("table", tag("caption", caption, class_="hidden"), tag("thead", head), tag("tbody", *body))
    return tag("div", made, class_="scroll", tabindex=0, role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """A list of names and values; a value of None is left out."""
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value is not None]
    return tag("dl", *shown, class_="facts")
