"""What people read: one message about everything a run has to tell over one route, and one summary of a backfill.

A subject line with the verdict, then what changed, where the page is, and the command that runs it again. Plain text; channels that
know more make it up from the same parts. Texts from data (levels, file names) are passed on as they are and never interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from headrace.quality.damage import CHECK as DAMAGED
from headrace.quality.incidents import CHANNEL, Incident, Quiet
from headrace.quality.routing import Due, News
from headrace.spec.checks import SEVERITIES

_SHOWN: Final = 10
_LONGEST_LINE: Final = 400
_WORDS: Final = {"opened": "Opened", "changed": "Severity changed", "closed": "Closed"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a reader goes from here.

    Attributes:
        name: what was judged, such as `flight_delay 2013-01-05`.
        run: address of the run in the Airflow UI.
        report: where the verdict's page lies.
        again: the command that runs it again.
        approve: address of the DAG with which a person approves a held candidate; None where nothing can be approved.
        held: whether the day is kept from release.
        bad: whether this run's own verdict has something to tell.
        runbooks: folder or address of the runbooks.
    """

    name: str
    run: str
    report: str
    again: str
    approve: str | None = None
    held: bool = False
    bad: bool = True
    runbooks: str = "docs/runbooks"


@dataclass(frozen=True, kw_only=True)
class Message:
    """Subject and lines; `level` is the worst severity in it, `closed` when it only has good news."""

    subject: str
    lines: tuple[str, ...]
    level: str

    @property
    def text(self) -> str:
        return "\n".join((self.subject, *self.lines))

    @property
    def html(self) -> str:
        """For mail: the same lines, escaped, addresses as links."""
        return "<br>\n".join(_linked(line) for line in (self.subject, *self.lines))


def alert(due: Due, headline: str, place: Place) -> Message:
    """The message of one run over one route."""
    level = _worst(due.news)
    lines = [_told(item, place) for item in due.news[:_SHOWN]]
    if len(due.news) > _SHOWN:
        lines.append(f"... and {len(due.news) - _SHOWN} more on the page.")
    if place.held:
        lines.append("Held: this day is not released; what was released before stays in use.")
    lines += [f"Report: {place.report}"] if place.report else []
    lines += [f"Run: {place.run}", f"Run it again: {place.again}"]
    if place.held and place.approve is not None:
        lines.append(f"Release it anyway: {place.approve} (your name and reason are kept)")
    if due.partial and level != "closed":
        headline = (
            f"{due.news[0].incident.check}: {due.news[0].incident.reason}"  # the verdict's line may be about what is not theirs
        )
    elif not place.bad and level != "closed":
        # Told late: the run that found it could not tell, and this one's own verdict is another.
        headline = f"{due.news[0].incident.check} has been wrong since {due.news[0].incident.first}"
    return Message(subject=f"[{level}] {place.name}: {short(headline)}", lines=tuple(lines), level=level)


def summary(days: Sequence[Quiet], dataset: str, again: str) -> Message:
    """The one message about a backfill's bad days."""
    held = sum(day.level == "critical" for day in days)
    counts = [f"{held} held"] if held else []
    counts += [f"{len(days) - held} flagged"] if len(days) > held else []
    level = max((day.level for day in days), key=SEVERITIES.index)
    lines = [f"{day.partition} ({day.level}): {short(day.headline)} Report: {day.report}" for day in days[:_SHOWN]]
    if len(days) > _SHOWN:
        lines.append(f"... and {len(days) - _SHOWN} more: headrace quality held {dataset}")
    subject = (
        f"[{level}] {dataset}: backfill with {len(days)} bad days, {' and '.join(counts)}"
        if len(days) > 1
        else (f"[{level}] {dataset}: backfill with one bad day, {' and '.join(counts)}")
    )
    return Message(subject=subject, lines=(*lines, f"Run one again: {again}"), level=level)


def short(line: str) -> str:
    """One line of bounded length."""
    flat = " ".join(line.split())
    return flat if len(flat) <= _LONGEST_LINE else f"{flat[: _LONGEST_LINE - 3]}..."


def runbook(check: str) -> str:
    """The runbook of a check, by the first word of its identity."""
    return f"{check.partition('.')[0]}.md"


def _told(item: News, place: Place) -> str:
    incident = item.incident
    named = f"{_WORDS[item.change]} #{incident.number} {incident.check}"
    if item.change == "closed":
        return f"{named}: {_why_closed(incident)}."
    mine = f" (with {incident.acknowledged_by})" if incident.acknowledged_by is not None else ""
    return f"{named} ({incident.level}){mine}: {short(incident.reason)} Runbook: {place.runbooks}/{runbook(incident.check)}"


def _why_closed(incident: Incident) -> str:
    if incident.check.startswith(CHANNEL):
        return "two messages went through"
    return (
        f"every byte of {incident.feature} is right again"
        if incident.check == DAMAGED
        else f"two clean runs since {incident.last}"
    )


def _worst(news: Sequence[News]) -> str:
    return max((item.incident.level for item in news if item.change != "closed"), key=SEVERITIES.index, default="closed")


def _linked(line: str) -> str:
    words = [escape(word) for word in line.split(" ")]
    return " ".join(f'<a href="{word}">{word}</a>' if word.startswith(("http://", "https://")) else word for word in words)
