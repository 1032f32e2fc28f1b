"""One release: what it is, what it changed against the one before, its partitions, and the code of a transform's."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.manifests.compare import PartitionChange, compare
from headrace.manifests.document import Document
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import release_numbered
from headrace.manifests.release import Release
from headrace.pages import figures
from headrace.pages.catalogue import Entry
from headrace.pages.code import code_sections
from headrace.pages.errors import PageMissing
from headrace.pages.html import Html, facts, table, tag
from headrace.pages.links import Links
from headrace.pages.maker import made_by
from headrace.pages.page import link, page, section
from headrace.pages.reads import Reads
from headrace.pages.verified import looks_at, verified_cell, verified_line
from headrace.runs.verified import Look, read_looks

SHOWN = 60


def release_page(entry: Entry, number: int, reads: Reads, links: Links) -> bytes:
    """A release and its difference to the one before. Raises `PageMissing`."""
    document, release = release_at(entry, number, reads)
    parent = None if release.parent is None else release_numbered(reads.lake, entry.name, release.parent)
    changes = (
        compare(reads.lake, parent or Release(dataset=entry.name, number=0, parent=None, partitions={}), release)
        if _comparable(parent, release)
        else []
    )
    newest = reads.release(entry.name)
    in_use = newest is not None and newest.number == number
    manifests = reads.manifests(release)
    looks = read_looks(reads.lake, entry.name)
    before = {} if parent is None else reads.manifests(parent, [name for name in parent.partitions if name in manifests])
    return page(
        f"{entry.name} release {number}",
        section("What it is", _facts(release, document, looks, in_use=in_use, entry=entry, links=links), _notes(release)),
        section("What it changed", _changes(entry, changes[:SHOWN], number, links), note=_since(parent, changes)),
        *code_sections(entry.name, manifests, before, reads),
        section(
            "Partitions",
            _partitions(entry, release, manifests, looks_at(release.partitions, looks), links),
            note=_cut(len(manifests)),
        ),
        here="Datasets",
        links=links,
        lead=tag("span", link(entry.name, links.dataset(entry.name)), f", {entry.kind} of {entry.owner}"),
    )


def release_at(entry: Entry, number: int, reads: Reads) -> tuple[Document, Release]:
    document = reads.release_document(entry.name, number)
    if document is None:
        raise PageMissing(
            f"{entry.name} release {number}",
            found="no such release",
            expected="a release that was not collected",
            remedy="See the dataset's releases.",
        )
    return document, Release.from_document(f"{entry.name} release {number}", document)


def _comparable(parent: Release | None, release: Release) -> bool:
    """Whether the parent is there to compare with; a first release compares with nothing."""
    return parent is not None or release.parent is None


def _facts(release: Release, document: Document, looks: Mapping[str, Look], *, in_use: bool, entry: Entry, links: Links) -> Html:
    return facts(
        [
            ("State", tag("span", "in use" if in_use else "an earlier release", class_=f"badge t-{'ok' if in_use else 'none'}")),
            ("Digest", figures.digest(release.digest)),
            ("Partitions", figures.count(len(release.partitions))),
            ("Verified", verified_line(release.partitions, looks)),
            (
                "Before it",
                None if release.parent is None else link(f"release {release.parent}", links.release(entry.name, release.parent)),
            ),
            *made_by(document.run, links),
        ]
    )


def _notes(release: Release) -> Html:
    items = [
        tag("li", tag("span", note.kind, class_="badge t-warning"), f" {note.partition}: {note.text}")
        for note in release.notes[:SHOWN]
    ]
    return tag("ul", *items, class_="plain") if items else Html("")


def _since(parent: Release | None, changes: list[PartitionChange]) -> str:
    base = (
        "It is the first release."
        if parent is None
        else f"Against release {parent.number}: {figures.plural(len(changes), 'partition')}."
    )
    return base if len(changes) <= SHOWN else f"{base} The first {SHOWN} are shown."


def _changes(entry: Entry, changes: list[PartitionChange], number: int, links: Links) -> Html:
    if not changes:
        return tag("p", "No partition differs.", class_="note")
    rows = [
        [
            change.partition
            if change.kind == "removed"
            else link(change.partition, links.partition(entry.name, number, change.partition)),
            change.kind,
            f"{change.samples_before:,} → {change.samples_after:,}",
            f"{change.shards_kept} kept, {change.shards_new} new, {change.shards_gone} gone",
            figures.size(change.bytes_new),
        ]
        for change in changes
    ]
    return table(
        ("Partition", "Change", "Samples", "Shards", "New bytes"), rows, caption="Partitions that differ", numbers=(2, 4)
    )


def _partitions(
    entry: Entry, release: Release, manifests: Mapping[str, Manifest], seen: Mapping[str, Look], links: Links
) -> Html:
    rows = [
        [
            link(name, links.partition(entry.name, release.number, name)),
            figures.count(manifest.counts.samples),
            figures.count(len(manifest.shards)),
            figures.size(manifest.size_bytes),
            verified_cell(seen.get(name)),
            figures.digest(manifest.digest),
        ]
        for name, manifest in sorted(manifests.items(), reverse=True)[:SHOWN]
    ]
    heads = ("Partition", "Samples", "Shards", "Size", "Verified", "Manifest")
    return table(heads, rows, caption="Partitions, newest first", numbers=(1, 2, 3))


def _cut(total: int) -> str | None:
    return None if total <= SHOWN else f"The newest {SHOWN} of {total:,}; `headrace ls` lists all."
