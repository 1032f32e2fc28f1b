"""*Quality*: the verdict of every day, check by check, what is wrong now, and the stored report behind it, shown as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.pages.calendar import Day, calendar
from headrace.pages.catalogue import Catalogue, Entry
from headrace.pages.errors import PageMissing
from headrace.pages.html import Html, join, table, tag
from headrace.pages.incidents import MayTakeOn, incidents_of
from headrace.pages.links import Links
from headrace.pages.matrix import Said, matrix
from headrace.pages.page import empty, link, page, problem, section
from headrace.pages.reads import Reads
from headrace.pages.standing import Judged, day_of, newest_verdicts

VERDICTS_SHOWN = 100
VERDICTS_ON_OVERVIEW = 7
DAYS_OF_CHECKS = 30
_TONES = {"ok": "ok", "insufficient": "ok", "warning": "warning", "failed": "failed", "not run": "failed"}
_WORST_FIRST = ("failed", "not run", "warning", "insufficient", "ok")
Where = Callable[[Judged], str]


def quality_page(catalogue: Catalogue, reads: Reads, links: Links, may_take_on: MayTakeOn) -> bytes:
    """Every training set with a gate."""
    gated = catalogue.of_kind("training set")
    lead = "Great Expectations judges a profile of each day's candidate before it is released."
    if not gated:
        body = empty("No training set", "No training set is declared whose DAG you may read.")
        return page("Quality", body, here="Quality", links=links, lead=lead)
    cards = [_card(entry, reads, links, may_take_on, limit=VERDICTS_ON_OVERVIEW) for entry in gated]
    return page("Quality", *cards, here="Quality", links=links, lead=lead)


def verdicts_page(entry: Entry, reads: Reads, links: Links, may_take_on: MayTakeOn) -> bytes:
    """One training set's verdicts, and the monitor's on live data."""
    body = (_card(entry, reads, links, may_take_on, limit=VERDICTS_SHOWN), _live(entry, reads, links, may_take_on))
    return page(f"Quality of {entry.name}", *body, here="Quality", links=links)


def stored_report(entry: Entry, partition: str, digest: str, reads: Reads, *, live: bool = False) -> bytes:
    """The report's bytes as they lie in the lake. Raises `PageMissing`."""
    key = layout.monitor_report if live else layout.report
    try:
        return reads.lake.get(key(entry.name, partition, digest)).data
    except ObjectMissing as error:
        raise PageMissing(
            f"report of {entry.name} {partition}",
            found="none",
            expected="a stored report",
            remedy=f"Clear the run's {'watch' if live else 'check'} task: it is written again.",
        ) from error


def newest_report(entry: Entry, partition: str, reads: Reads, *, live: bool = False) -> Judged | None:
    """The newest verdict of a partition, for those who come from a task."""
    return newest_verdicts(reads, entry.name, live=live).get(partition)


def _card(entry: Entry, reads: Reads, links: Links, may_take_on: MayTakeOn, *, limit: int) -> Html:
    try:
        judged = newest_verdicts(reads, entry.name)
        release = reads.release(entry.name)
        wrong = incidents_of(entry, "gate", reads, links, may_take_on)
    except HeadraceError as error:
        return problem(f"{entry.name} cannot be read", tag("p", str(error)))
    if not judged:
        when = join("No day was judged yet: ", tag("code", entry.dag), " runs by itself when its inputs have a day.")
        return empty(entry.name, when, _incidents(wrong))
    in_use = {} if release is None else release.partitions

    def where(one: Judged) -> str:
        return links.report(entry.name, one.partition, one.manifest)

    newest = sorted(judged.values(), key=lambda one: one.partition, reverse=True)
    rows = [[*_row(one, where), _released(one, in_use)] for one in newest[:limit]]
    return tag(
        "section",
        tag("h2", link(entry.name, links.quality(entry.name))),
        calendar(_squares(judged.values(), where, in_use)),
        _incidents(wrong),
        _checks(newest, where),
        tag("h3", "Verdicts"),
        table(("Day", "Verdict", "", "Released"), rows, caption="Verdicts, newest first"),
        tag("p", link(f"All {len(newest):,}", links.quality(entry.name))) if len(newest) > limit else None,
    )


def _live(entry: Entry, reads: Reads, links: Links, may_take_on: MayTakeOn) -> Html:
    """What the monitor said about live data; nothing where nothing is watched."""
    try:
        judged = newest_verdicts(reads, entry.name, live=True)
        wrong = incidents_of(entry, "monitor", reads, links, may_take_on)
    except HeadraceError as error:
        return problem("Live data cannot be shown", tag("p", str(error)))
    if not judged:
        return Html("")

    def where(one: Judged) -> str:
        return links.live_report(entry.name, one.partition, one.manifest)

    newest = sorted(judged.values(), key=lambda one: one.partition, reverse=True)
    rows = [_row(one, where) for one in newest[:VERDICTS_SHOWN]]
    return section(
        "Live data",
        _incidents(wrong),
        _checks(newest, where),
        table(("Day", "Verdict", ""), rows, caption="Verdicts on live data, newest first"),
        note="Each day of live data against the training set in use. It holds nothing back.",
    )


def _incidents(wrong: Html) -> Html:
    return join(tag("h3", "Incidents"), wrong) if wrong != "" else wrong


def _checks(newest: Sequence[Judged], where: Where) -> Html:
    """The last days check by check, worst check first, oldest day first."""
    days = list(newest[:DAYS_OF_CHECKS])[::-1]
    rows: dict[str, dict[str, Said]] = {}
    for one in days:
        for check in one.checks:
            rows.setdefault(check.id, {})[one.partition] = Said(state=check.state, words=check.reason, href=where(one))
    if not rows:
        return Html("")
    ordered = dict(sorted(rows.items(), key=lambda item: (_worst(item[1]), item[0])))
    return join(tag("h3", f"Checks of the last {len(days)} days"), matrix([one.partition for one in days], ordered))


def _worst(found: Mapping[str, Said]) -> int:
    return min(_WORST_FIRST.index(said.state) if said.state in _WORST_FIRST else 0 for said in found.values())


def _squares(judged: Iterable[Judged], where: Where, in_use: Mapping[str, str]) -> dict[date, Day]:
    return {
        day: _square(one, where, used=in_use.get(one.partition) == one.manifest)
        for one in judged
        if (day := day_of(one.partition)) is not None
    }


def _square(one: Judged, where: Where, *, used: bool) -> Day:
    tone = _TONES.get(one.state, "failed")
    state = "held" if tone == "failed" and not used else "warning" if tone == "failed" else tone
    return Day(state=state, title=one.headline, href=where(one))


def _row(one: Judged, where: Where) -> list[object]:
    tone = _TONES.get(one.state, "failed")
    return [link(one.partition, where(one)), tag("span", one.state, class_=f"badge t-{tone}"), one.headline]


def _released(one: Judged, in_use: Mapping[str, str]) -> str:
    if in_use.get(one.partition) == one.manifest:
        return "yes"
    return "no, another candidate is" if one.passes else "no, held"
