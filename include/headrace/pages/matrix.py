"""Checks against days: one mark for what each check said of each day, so that what began when, and what goes on, is seen at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.pages.html import Html, tag

_WORDS: Final = {
    "ok": "ok",
    "insufficient": "too little data to say",
    "warning": "warning",
    "failed": "failed",
    "not run": "could not run",
}
_TONES: Final = {"ok": "ok", "insufficient": "none", "warning": "warning", "failed": "failed", "not run": "failed"}


@dataclass(frozen=True, kw_only=True)
class Said:
    """What one check said of one day: its state, and the sentence it gave."""

    state: str
    words: str
    href: str | None = None


def matrix(days: Sequence[str], rows: Mapping[str, Mapping[str, Said]]) -> Html:
    """A row a check, a column a day, both in the given order. A check that was not asked on a day has an empty cell."""
    head = tag("tr", tag("th", "Check", scope="col"), *(tag("th", tag("span", day[5:]), scope="col", title=day) for day in days))
    body = [
        tag("tr", tag("th", name, scope="row"), *(_cell(name, day, found.get(day)) for day in days))
        for name, found in rows.items()
    ]
    made = tag(
        "table", tag("caption", "Checks by day", class_="hidden"), tag("thead", head), tag("tbody", *body), class_="matrix"
    )
    used = dict.fromkeys(state for state in _WORDS if any(said.state == state for row in rows.values() for said in row.values()))
    keys = [tag("li", tag("span", class_=f"mark m-{_TONES[state]}"), _WORDS[state]) for state in used]
    return tag(
        "div",
        tag("div", made, class_="scroll", tabindex=0, role="region", aria_label="Checks by day"),
        tag("ul", *keys, class_="legend"),
    )


def _cell(check: str, day: str, said: Said | None) -> Html:
    if said is None:
        return tag("td")
    words = f"{check}, {day}: {_WORDS.get(said.state, said.state)}" + (f". {said.words}" if said.words else "")
    kind, more = ("span", {}) if said.href is None else ("a", {"href": said.href})
    tone = _TONES.get(said.state, "failed")
    return tag("td", tag(kind, class_=f"mark m-{tone}", title=words, aria_label=words, **more))
