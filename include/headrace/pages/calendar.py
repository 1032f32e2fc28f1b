"""Days as people know them: months side by side, a square a day, its state in colour, mark and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from typing import Final

from headrace.pages.html import Html, tag

WORDS: Final = {
    "ok": "published",
    "warning": "published with a flag",
    "held": "held by the gate",
    "failed": "failed or quarantined",
    "damaged": "stored bytes are damaged",
    "missing": "nothing published",
}


@dataclass(frozen=True, kw_only=True)
class Day:
    """One square. `state` is a key of `WORDS`; `title` says more; `href` leads on."""

    state: str
    title: str
    href: str | None = None


def calendar(days: Mapping[date, Day], *, months: int | None = None) -> Html:
    """The months from the first to the last known day, at most the last `months`; days between without an entry are missing."""
    if not days:
        return Html("")
    first, last = min(days), max(days)
    if months is not None:
        first = max(first, _months_back(last, months - 1))
    whole = _each(first.replace(day=1), last)
    shown = [_month(list(group), days, (first, last)) for _, group in groupby(whole, key=lambda one: (one.year, one.month))]
    states = {days[day].state if day in days else "missing" for day in _each(first, last)}
    return tag("div", tag("div", *shown, class_="months"), legend(states))


def legend(states: set[str]) -> Html:
    """What colours and marks mean, of those that occur."""
    items = [tag("li", tag("span", class_=f"square c-{state}"), word) for state, word in WORDS.items() if state in states]
    return tag("ul", *items, class_="legend")


def _month(month: list[date], days: Mapping[date, Day], shown: tuple[date, date]) -> Html:
    start = month[0]
    blanks = [tag("li", aria_hidden="true") for _ in range(start.weekday())]
    squares = [tag("li", _square(day, days.get(day), inside=shown[0] <= day <= shown[1])) for day in month]
    return tag(
        "div",
        tag("h3", start.strftime("%B %Y")),
        tag("ul", *blanks, *squares, class_="days"),
        class_="month",
    )


def _square(day: date, known: Day | None, *, inside: bool) -> Html:
    if known is None:
        state = "missing" if inside else "none"
        return tag("span", day.day, class_=f"day c-{state}", title=f"{day}: {WORDS['missing']}" if inside else None)
    label = f"{day}: {known.title}"
    kind, more = ("span", {}) if known.href is None else ("a", {"href": known.href})
    return tag(kind, day.day, class_=f"day c-{known.state}", title=label, aria_label=label, **more)


def _each(first: date, last: date) -> list[date]:
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def _months_back(day: date, months: int) -> date:
    index = day.year * 12 + day.month - 1 - months
    return date(index // 12, index % 12 + 1, 1)
