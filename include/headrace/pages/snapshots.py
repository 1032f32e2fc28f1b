"""*Snapshots*: the versions of each day of a feature view, what each knew and when, and how much arrived too late for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from typing import Any

from headrace.manifests.manifest import Manifest
from headrace.manifests.release import Release
from headrace.pages import figures
from headrace.pages.by_day import Column, by_day
from headrace.pages.calendar import Day, calendar
from headrace.pages.catalogue import Catalogue, Entry
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.links import Links
from headrace.pages.page import empty, link, page, section
from headrace.pages.reads import Reads

DAYS_SHOWN = 62


def snapshots_page(catalogue: Catalogue, reads: Reads, links: Links) -> bytes:
    """Every view, or the one there is."""
    views = catalogue.of_kind("view")
    if len(views) == 1:
        return view_page(views[0], reads, links)
    if not views:
        return page(
            "Snapshots", empty("No feature view", "No view is declared whose DAG you may read."), here="Snapshots", links=links
        )
    items = [tag("li", link(view.name, links.snapshots(view.name)), f" of {view.owner}") for view in views]
    return page("Snapshots", section("Feature views", tag("ul", *items, class_="plain")), here="Snapshots", links=links)


def view_page(entry: Entry, reads: Reads, links: Links) -> bytes:
    """The versions of one view."""
    release = reads.release(entry.name)
    lead = "A version is published once and never changed; a label sees those that were published by its time."
    if release is None:
        body = empty("No snapshot yet", f"Backfill {entry.dag} for days from {entry.start} on.")
        return page(f"Snapshots of {entry.name}", body, here="Snapshots", links=links, lead=lead)
    versions = versions_by_day(reads.manifests(release))
    newest = sorted(versions, reverse=True)[:DAYS_SHOWN]
    late = {day: column for day, known in versions.items() if (column := _late(entry, known, release, links)) is not None}
    return page(
        f"Snapshots of {entry.name}",
        section("In use", _facts(entry, release, versions, links)),
        section(
            "Days",
            calendar({day: _square(entry, known, release, links) for day, known in versions.items()}),
            note=_what_the_days_say(),
        ),
        section(
            "What came too late",
            by_day(late, label="Share of a day's events that its first version did not know"),
        ),
        section(
            "Versions",
            _table(entry, release, {day: versions[day] for day in newest}, links),
            note=f"The newest {DAYS_SHOWN} days." if len(versions) > DAYS_SHOWN else None,
        ),
        here="Snapshots",
        links=links,
        lead=lead,
    )


def versions_by_day(manifests: Mapping[str, Manifest]) -> dict[date, list[Manifest]]:
    """Manifests of versions by day, each day's by knowledge time."""
    found: defaultdict[date, list[Manifest]] = defaultdict(list)
    for manifest in manifests.values():
        found[date.fromisoformat(_snapshot(manifest)["day"])].append(manifest)
    return {day: sorted(found[day], key=lambda one: str(_snapshot(one)["knowledge"])) for day in sorted(found)}


def completeness(version: Manifest, versions: list[Manifest]) -> float | None:
    """The share of the events known to the day's last version that this version knew; None without any event."""
    most = int(_snapshot(versions[-1])["rows"]["used"])
    return int(_snapshot(version)["rows"]["used"]) / most if most > 0 else None


def _snapshot(manifest: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = manifest.facts["snapshot"]
    return found


def _square(entry: Entry, versions: list[Manifest], release: Release, links: Links) -> Day:
    known = completeness(versions[0], versions)
    kinds = ", ".join(str(_snapshot(one)["kind"]) for one in versions)
    settled = any(_snapshot(one)["kind"] != "preliminary" for one in versions)
    share = "" if known is None or len(versions) == 1 else f"; the first knew {known:.1%} of what the last knew"
    return Day(
        state="ok" if settled else "warning",
        title=f"{kinds}, {figures.plural(versions[-1].counts.samples, 'entity', 'entities')}{share}",
        href=links.partition(entry.name, release.number, versions[-1].partition),
    )


def _late(entry: Entry, versions: list[Manifest], release: Release, links: Links) -> Column | None:
    """What the last version knew and the first did not; None for a day that has one version, or no event."""
    share = completeness(versions[0], versions) if len(versions) > 1 else None
    if share is None:
        return None
    return Column(
        value=1 - share, words=f"{1 - share:.1%}", href=links.partition(entry.name, release.number, versions[0].partition)
    )


def _what_the_days_say() -> str:
    return "Green: settled. Flagged: only the preliminary version so far, late events may still settle."


def _facts(entry: Entry, release: Release, versions_of: Mapping[date, list[Manifest]], links: Links) -> Html:
    shares = [
        share
        for versions in versions_of.values()
        if len(versions) > 1 and (share := completeness(versions[0], versions)) is not None
    ]
    synthetic = sum(bool(_snapshot(one)["synthetic"]) for versions in versions_of.values() for one in versions)
    return facts(
        [
            ("Release", link(release.number, links.release(entry.name, release.number))),
            ("Days", figures.count(len(versions_of))),
            ("Versions", figures.count(len(release.partitions))),
            ("Preliminary knew", f"{min(shares):.1%} to {max(shares):.1%}" if shares else None),
            ("Published by declaration", f"{synthetic:,} (days before the system ran)" if synthetic else None),
        ]
    )


def _table(entry: Entry, release: Release, versions_of: Mapping[date, list[Manifest]], links: Links) -> Html:
    rows = [_row(entry, release, version, versions, links) for versions in versions_of.values() for version in versions]
    heads = ("Day", "Kind", "Knew arrivals until", "Published", "Entities", "Events used", "Knew")
    return table(heads, rows, caption="Versions, newest day first", numbers=(4, 5, 6))


def _row(entry: Entry, release: Release, version: Manifest, versions: list[Manifest], links: Links) -> list[object]:
    snapshot = _snapshot(version)
    known = completeness(version, versions)
    published = figures.moment(snapshot["published_at"])
    return [
        link(snapshot["day"], links.partition(entry.name, release.number, version.partition)),
        snapshot["kind"],
        figures.moment(snapshot["knowledge"]),
        join(published, tag("small", " declared")) if snapshot["synthetic"] else published,
        figures.count(version.counts.samples),
        figures.count(int(snapshot["rows"]["used"])),
        "" if known is None else f"{known:.1%}",
    ]
