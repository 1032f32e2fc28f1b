"""What is wrong with a dataset now, and what was lately: since when, how often, and who has taken it on."""

from __future__ import annotations

from headrace.pages.html import Html, join, table, tag
from headrace.pages.reads import Reads
from headrace.quality.incident_store import Stream, read_incidents
from headrace.quality.incidents import Incident

CLOSED_SHOWN = 5
_HEADS = ("No.", "", "Check", "First and last day", "Seen", "Taken on by", "Why")


def incidents_of(dataset: str, stream: Stream, reads: Reads) -> Html:
    """Every open incident and the last few closed ones; nothing where nothing was ever wrong. Raises `DocumentRefused`."""
    found = list(reversed(read_incidents(reads.lake, dataset, stream).incidents))
    shown = [one for one in found if one.is_open] + [one for one in found if not one.is_open][:CLOSED_SHOWN]
    if not shown:
        return Html("")
    rows = [_row(one) for one in shown]
    live = " --live" if stream == "monitor" else ""
    return join(
        tag("h3", "Incidents"),
        table(_HEADS, rows, caption="Incidents, open ones first", numbers=(4,)),
        tag("p", "To take one on: ", tag("code", f"headrace quality acknowledge {dataset} NUMBER{live}"), class_="note"),
    )


def _row(one: Incident) -> list[object]:
    tone = "none" if not one.is_open else "failed" if one.level == "critical" else "warning"
    days = one.first if one.first == one.last else f"{one.first} to {one.last}"
    with_whom = "" if one.acknowledged_by is None else one.acknowledged_by + ("" if one.remark is None else f": {one.remark}")
    return [f"#{one.number}", tag("span", one.stage, class_=f"badge t-{tone}"), one.check, days, one.count, with_whom, one.reason]
