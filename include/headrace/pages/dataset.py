"""One dataset: all its days, its partitions in figures, and how it came to be what it is."""

from __future__ import annotations

from headrace.manifests.history import history
from headrace.manifests.manifest import Manifest
from headrace.pages import figures
from headrace.pages.by_day import by_day
from headrace.pages.calendar import calendar
from headrace.pages.catalogue import Entry
from headrace.pages.damage import by_hand, damage_list
from headrace.pages.datasets import headline_facts, troubles
from headrace.pages.days import days_of, samples_of
from headrace.pages.html import Html, join, separated, table, tag
from headrace.pages.incidents import MayTakeOn, incidents_of
from headrace.pages.links import Links
from headrace.pages.maker import run_link
from headrace.pages.page import empty, link, out, page, section
from headrace.pages.reads import Reads
from headrace.pages.standing import Standing, standing

PARTITIONS_SHOWN = 100
RELEASES_SHOWN = 20


def dataset_page(entry: Entry, reads: Reads, links: Links, may_take_on: MayTakeOn) -> bytes:
    """The page of one entry."""
    found = standing(reads, entry.name)
    damage = join(damage_list(by_hand(entry.name, found, links)), incidents_of(entry, "lake", reads, links, may_take_on))
    lead = tag("span", f"{entry.kind} of {entry.owner}, filled by ", out(entry.dag, links.airflow_dag(entry.dag)))
    if found.release is None:
        what = "Backfill the root DAGs of its inputs" if entry.kind in ("training set", "transform") else f"Backfill {entry.dag}"
        body = empty("Nothing is published yet", f"{what} for days from {entry.start} on.")
        return page(entry.name, body, troubles(entry, found, links), _stored(damage), here="Datasets", links=links, lead=lead)
    return page(
        entry.name,
        section("In use", headline_facts(entry, found, links), troubles(entry, found, links)),
        _stored(damage),
        section(
            "Days",
            tag(
                "div",
                calendar(days_of(entry.name, found, links)),
                by_day(samples_of(entry.name, found, links), label="Samples a day"),
                class_="pair",
            ),
        ),
        section("Partitions", _partitions(entry, found, links), note=_cut(len(found.manifests), PARTITIONS_SHOWN)),
        section("Releases", _releases(entry, reads, links), note=_newest(found)),
        here="Datasets",
        links=links,
        lead=lead,
    )


def _stored(damage: Html) -> Html:
    """What verifying found; nothing where it never found anything."""
    if damage == "":
        return damage
    return section("Damage", damage, note="Every night a share of what is stored is read again and compared with its manifest.")


def _partitions(entry: Entry, found: Standing, links: Links) -> Html:
    number = 0 if found.release is None else found.release.number
    newest = sorted(found.manifests.items(), reverse=True)[:PARTITIONS_SHOWN]
    rows = [_row(entry, partition, manifest, number, links) for partition, manifest in newest]
    heads = ("Partition", "Samples", "Shards", "Size", "Objects", "Quarantined", "Manifest")
    return table(heads, rows, caption="Partitions, newest first", numbers=(1, 2, 3, 4, 5))


def _row(entry: Entry, partition: str, manifest: Manifest, number: int, links: Links) -> list[object]:
    counts = manifest.counts
    refused = ", ".join(f"{amount} {reason}" for reason, amount in counts.quarantined.items())
    return [
        link(partition, links.partition(entry.name, number, partition)),
        figures.count(counts.samples),
        figures.count(len(manifest.shards)),
        figures.size(manifest.size_bytes),
        figures.count(counts.listed),
        refused or "0",
        figures.digest(manifest.digest),
    ]


def _releases(entry: Entry, reads: Reads, links: Links) -> Html:
    rows = []
    for line in history(reads.lake, entry.name, limit=RELEASES_SHOWN):
        changes = [
            join(word, " ", _some(names))
            for word, names in (("added", line.added), ("changed", line.changed), ("removed", line.removed))
            if names
        ]
        run = line.run
        made = figures.moment(run["made_at"]) if "made_at" in run else None
        rows.append(
            [
                link(line.release.number, links.release(entry.name, line.release.number)),
                made,
                separated("; ", changes) if changes else "the same partitions again",
                run_link(run, links),
            ]
        )
    return table(("Release", "Made", "What changed", "By"), rows, caption="Releases, newest first")


def _newest(found: Standing) -> str | None:
    many = found.release is not None and found.release.number > RELEASES_SHOWN
    return f"The newest {RELEASES_SHOWN}." if many else None


def _some(names: tuple[str, ...]) -> Html:
    """The first few, each on one line."""
    shown = separated(", ", (tag("span", name, class_="whole") for name in names[:3]))
    return shown if len(names) <= 3 else join(shown, f" and {len(names) - 3} more")


def _cut(total: int, shown: int) -> str | None:
    return None if total <= shown else f"The newest {shown} of {total:,}; `headrace ls` lists all."
