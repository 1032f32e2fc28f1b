"""A value a day, as columns side by side: how much a day holds, or how much of it was known in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from headrace.pages.html import Html, join, tag

DAYS_SHOWN: Final = 62


@dataclass(frozen=True, kw_only=True)
class Column:
    """One day's value: its height, the words for it, where it leads."""

    value: float
    words: str
    href: str | None = None


def by_day(days: Mapping[date, Column], *, label: str) -> Html:
    """Columns from the first to the last day, at most the last `DAYS_SHOWN`; a day without a value is a gap, the greatest is whole."""
    if not days:
        return Html("")
    last = max(days)
    first = max(min(days), last - timedelta(days=DAYS_SHOWN - 1))
    shown = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    greatest = max((days[day] for day in shown if day in days), key=lambda column: column.value)
    columns = [_column(day, days.get(day), greatest.value) for day in shown]
    ends = tag("div", *(tag("span", day.strftime("%-d %b %Y")) for day in dict.fromkeys((first, last))), class_="ends")
    scale = tag("div", f"{label}; a whole column is {greatest.words}", class_="note")
    return tag("div", scale, tag("ol", *columns, class_="columns"), ends, class_="by-day")


def _column(day: date, column: Column | None, top: float) -> Html:
    if column is None:
        return tag("li", tag("span", class_="none", title=f"{day}: nothing"))
    share = 100 * column.value / top if top > 0 else 0.0
    words = f"{day}: {column.words}"
    kind, more = ("span", {}) if column.href is None else ("a", {"href": column.href})
    bar = tag("span", style=f"height:{max(share, 1.5):.1f}%", class_="fill")
    return tag("li", tag(kind, join(bar), title=words, aria_label=words, **more))
