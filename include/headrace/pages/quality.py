"""*Quality*: the verdict of every day, and the stored report behind it, shown as it is."""

from __future__ import annotations

from datetime import date

from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.pages.calendar import Day, calendar
from headrace.pages.catalogue import Catalogue, Entry
from headrace.pages.errors import PageMissing
from headrace.pages.html import Html, table, tag
from headrace.pages.links import Links
from headrace.pages.page import empty, link, page, problem, section
from headrace.pages.reads import Reads
from headrace.pages.standing import Judged, day_of, newest_verdicts

VERDICTS_SHOWN = 100
_TONES = {"ok": "ok", "insufficient": "ok", "warning": "warning", "failed": "failed", "not run": "failed"}


def quality_page(catalogue: Catalogue, reads: Reads, links: Links) -> bytes:
    """Every training set with a gate."""
    gated = catalogue.of_kind("training set")
    lead = "Great Expectations judges a profile of each day's candidate before it is released."
    if not gated:
        body = empty("No training set", "No training set is declared whose DAG you may read.")
        return page("Quality", body, here="Quality", links=links, lead=lead)
    return page("Quality", *(_card(entry, reads, links, limit=14) for entry in gated), here="Quality", links=links, lead=lead)


def verdicts_page(entry: Entry, reads: Reads, links: Links) -> bytes:
    """One training set's verdicts."""
    return page(f"Quality of {entry.name}", _card(entry, reads, links, limit=VERDICTS_SHOWN), here="Quality", links=links)


def stored_report(entry: Entry, partition: str, manifest_digest: str, reads: Reads) -> bytes:
    """The report's bytes as they lie in the lake. Raises `PageMissing`."""
    try:
        return reads.lake.get(layout.report(entry.name, partition, manifest_digest)).data
    except ObjectMissing as error:
        raise PageMissing(
            f"report of {entry.name} {partition}",
            found="none",
            expected="a stored report",
            remedy="Clear the run's check task: it is written again.",
        ) from error


def newest_report(entry: Entry, partition: str, reads: Reads) -> Judged | None:
    """The newest verdict of a partition, for those who come from a task."""
    return newest_verdicts(reads, entry.name).get(partition)


def _card(entry: Entry, reads: Reads, links: Links, *, limit: int) -> Html:
    try:
        judged = newest_verdicts(reads, entry.name)
        release = reads.release(entry.name)
    except HeadraceError as error:
        return problem(f"{entry.name} cannot be read", tag("p", str(error)))
    if not judged:
        return empty(entry.name, "No day was judged yet: ", tag("code", entry.dag), " runs by itself when its inputs have a day.")
    in_use = {} if release is None else release.partitions
    squares: dict[date, Day] = {}
    for one in judged.values():
        day = day_of(one.partition)
        if day is not None:
            squares[day] = _square(entry, one, links, used=in_use.get(one.partition) == one.manifest)
    newest = sorted(judged.values(), key=lambda one: one.partition, reverse=True)
    rows = [_row(entry, one, in_use.get(one.partition) == one.manifest, links) for one in newest[:limit]]
    return section(
        entry.name,
        calendar(squares),
        table(("Day", "Verdict", "", "Released"), rows, caption="Verdicts, newest first"),
        tag("p", link(f"All {len(newest):,}", links.quality(entry.name))) if len(newest) > limit else None,
    )


def _square(entry: Entry, one: Judged, links: Links, *, used: bool) -> Day:
    tone = _TONES.get(one.state, "failed")
    state = "held" if tone == "failed" and not used else "warning" if tone == "failed" else tone
    return Day(state=state, title=one.headline, href=links.report(entry.name, one.partition, one.manifest))


def _row(entry: Entry, one: Judged, used: bool, links: Links) -> list[object]:  # noqa: FBT001 - one fact of a table row
    tone = _TONES.get(one.state, "failed")
    return [
        link(one.partition, links.report(entry.name, one.partition, one.manifest)),
        tag("span", one.state, class_=f"badge t-{tone}"),
        one.headline,
        "yes" if used else "no, held" if not one.passes else "no, another candidate is",
    ]
