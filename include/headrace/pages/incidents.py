"""What is wrong with a dataset now, and what was lately: since when, how often, who has taken it on, and a form for doing so."""

from __future__ import annotations

from collections.abc import Callable

from headrace.pages import figures
from headrace.pages.catalogue import Entry
from headrace.pages.html import Html, join, tag
from headrace.pages.links import Links
from headrace.pages.page import out
from headrace.pages.reads import Reads
from headrace.quality.incident_store import Stream, read_incidents
from headrace.quality.incidents import Incident

CLOSED_SHOWN = 5
SHORTEST_REMARK, LONGEST_REMARK = 3, 500
MayTakeOn = Callable[[Entry], bool]
"""Whether the person who looks may take on what is wrong with an entry. Asked only where something is."""


def incidents_of(entry: Entry, stream: Stream, reads: Reads, links: Links, may_take_on: MayTakeOn) -> Html:
    """Every open incident and the last few closed ones; nothing where nothing was ever wrong. Raises `DocumentRefused`."""
    found = list(reversed(read_incidents(reads.lake, entry.name, stream).incidents))
    still_open = [one for one in found if one.is_open]
    closed = [one for one in found if not one.is_open][:CLOSED_SHOWN]
    if not still_open and not closed:
        return Html("")
    allowed = len(still_open) > 0 and may_take_on(entry)
    items = [_open(one, links.incident(entry.name, stream, one.number) if allowed else None, stream) for one in still_open]
    return join(
        tag("ul", *items, *(_closed(one) for one in closed), class_="plain incidents"),
        None if allowed or not still_open else _who_may(entry, stream, links),
    )


def _open(one: Incident, address: str | None, stream: Stream) -> Html:
    """An open incident. `address`: where its form goes, None for who may not take it on."""
    tone = "failed" if one.level == "critical" else "warning"
    return tag(
        "li",
        tag("span", f"#{one.number} {one.level}", class_=f"badge t-{tone}"),
        " ",
        tag("strong", _what(one)),
        tag("small", f" {_seen(one)}, open since ", figures.moment(one.opened_at)),
        tag("p", one.reason),
        _with_whom(one),
        None if address is None else _form(one, address),
        id=f"{stream}-{one.number}",
    )


def _closed(one: Incident) -> Html:
    since = None if one.closed_at is None else figures.moment(one.closed_at)
    return tag(
        "li",
        tag("span", f"#{one.number} closed", class_="badge t-none"),
        f" {_what(one)}",
        tag("small", f" {_seen(one)}, closed ", since),
        tag("p", one.reason, class_="soft"),
        _with_whom(one),
    )


def _what(one: Incident) -> str:
    """The check, and what it is about where its name does not say so."""
    return one.check if one.feature == "" or one.check.endswith(one.feature) else f"{one.check} {one.feature}"


def _seen(one: Incident) -> str:
    """The days that showed it, where its name does not say so, and how often it was seen."""
    days = one.first if one.first == one.last else f"{one.first} to {one.last}"
    often = f"seen {figures.plural(one.count, 'time')}"
    return often if days == one.feature else f"{days}, {often}"


def _with_whom(one: Incident) -> Html | None:
    if one.acknowledged_by is None:
        return tag("p", "With nobody yet.", class_="note") if one.is_open else None
    when = None if one.acknowledged_at is None else join(" since ", figures.moment(one.acknowledged_at))
    return tag("p", "With ", tag("strong", one.acknowledged_by), when, None if one.remark is None else f": {one.remark}")


def _form(one: Incident, address: str) -> Html:
    """Closed until wanted, so that a list of incidents stays a list."""
    words = "Take on" if one.acknowledged_by is None else "Take over"
    remark = tag(
        "input",
        name="remark",
        required="required",
        minlength=SHORTEST_REMARK,
        maxlength=LONGEST_REMARK,
        autocomplete="off",
    )
    form = tag(
        "form",
        tag("label", "What you found, or what you do about it", remark),
        tag("button", f"{words} #{one.number}", type="submit"),
        method="post",
        action=address,
    )
    return tag("details", tag("summary", words), form)


def _who_may(entry: Entry, stream: Stream, links: Links) -> Html:
    return tag(
        "p",
        "Who may trigger ",
        out(entry.decision_dag, links.airflow_dag(entry.decision_dag)),
        " may take one on here; on a terminal: ",
        tag("code", f"headrace quality acknowledge {entry.name} NUMBER --stream {stream}"),
        class_="note",
    )
