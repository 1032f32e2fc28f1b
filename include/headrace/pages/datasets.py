"""*Datasets*: everything declared, what of it is published, and what is not and why."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.pages import figures
from headrace.pages.by_day import by_day
from headrace.pages.calendar import calendar
from headrace.pages.catalogue import Catalogue, Entry
from headrace.pages.damage import damage_list, damages
from headrace.pages.days import days_of, samples_of
from headrace.pages.html import Html, facts, join, tag
from headrace.pages.links import Links
from headrace.pages.page import empty, link, out, page, problem
from headrace.pages.reads import Reads
from headrace.pages.standing import Standing, standing

MONTHS_SHOWN = 4


def datasets_page(catalogue: Catalogue, reads: Reads, links: Links) -> bytes:
    """All entries, one card each."""
    if not catalogue.entries:
        body = empty(
            "No dataset to show",
            "Nothing is declared whose DAG you may read. A dataset is one file in ",
            tag("code", "include/datasets/"),
            "; its DAG and this page follow from it.",
        )
        return page("Datasets", body, here="Datasets", links=links)
    lead = "What is declared, what of it is published, and what is held back and why."
    return page("Datasets", *(_card(entry, reads, links) for entry in catalogue.entries), here="Datasets", links=links, lead=lead)


def _card(entry: Entry, reads: Reads, links: Links) -> Html:
    try:
        found = standing(reads, entry.name)
    except HeadraceError as error:
        return problem(f"{entry.name} cannot be read", tag("p", str(error)))
    head = tag(
        "div",
        tag("h2", link(entry.name, links.dataset(entry.name))),
        tag("small", entry.kind, " · ", entry.owner, " · ", out(entry.dag, links.airflow_dag(entry.dag))),
        class_="head",
    )
    wrong = join(damage_list(damages(entry.name, found, links)), troubles(entry, found, links))
    if found.release is None:
        return tag("section", head, _nothing(entry, links), wrong, class_="empty")
    return tag(
        "section",
        head,
        headline_facts(entry, found, links),
        tag(
            "div",
            calendar(days_of(entry.name, found, links), months=MONTHS_SHOWN),
            by_day(samples_of(entry.name, found, links), label="Samples a day"),
            class_="pair",
        ),
        wrong,
    )


def headline_facts(entry: Entry, found: Standing, links: Links) -> Html:
    """The release in use in figures."""
    if found.release is None:
        return Html("")
    days = sorted(found.manifests)
    return facts(
        [
            ("Release", link(f"{found.release.number}", links.release(entry.name, found.release.number))),
            ("Digest", figures.digest(found.release.digest)),
            ("Partitions", figures.count(len(found.manifests))),
            ("Samples", figures.count(found.samples)),
            ("Shards", f"{figures.count(found.shards)}, {figures.size(found.size_bytes)}"),
            ("Days", _span(days[0], days[-1]) if days else None),
        ]
    )


def troubles(entry: Entry, found: Standing, links: Links) -> Html:
    """What is held, failed or quarantined, each with its reason and where to read on."""
    items = [
        tag(
            "li",
            _badge("held", "Held"),
            " ",
            link(one.partition, links.report(entry.name, one.partition, one.manifest)),
            ": ",
            one.headline,
        )
        for one in sorted(found.held, key=lambda one: one.partition, reverse=True)
    ]
    items += [
        tag("li", _badge("failed", "Failed"), " ", link(day, links.runs(entry.name)), ": ", error[:300])
        for day, error in sorted(found.failed.items(), reverse=True)
    ]
    items += [
        tag(
            "li",
            _badge("failed", "Quarantined"),
            f" {partition}: {figures.plural(number, 'object')} refused; see ",
            tag("code", f"headrace quarantine {entry.name} {partition}"),
        )
        for partition, number in sorted(found.quarantined.items(), reverse=True)
        if partition not in found.failed
    ]
    return tag("ul", *items, class_="plain") if items else Html("")


def _badge(state: str, word: str) -> Html:
    return tag("span", word, class_=f"badge t-{state}")


def _nothing(entry: Entry, links: Links) -> Html:
    return join(
        tag(
            "p",
            "Nothing is published yet. ",
            "It runs by itself after its inputs: backfill their root DAGs"
            if entry.kind in ("training set", "transform")
            else join("Trigger or backfill ", out(entry.dag, links.airflow_dag(entry.dag))),
            f" for days from {entry.start} on.",
        )
    )


def _span(first: str, last: str) -> Html:
    ends = (tag("span", name.partition(".")[0], class_="whole") for name in (first, last))
    return join(next(ends), " to ", next(ends))
