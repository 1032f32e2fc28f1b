"""One release: what it holds, what it changed, and one partition of it with shards and lineage."""

from __future__ import annotations

from typing import Any

from headrace.manifests.compare import PartitionChange, compare
from headrace.manifests.document import Document
from headrace.manifests.manifest import Manifest, manifest_from
from headrace.manifests.read import release_numbered
from headrace.manifests.release import Release
from headrace.pages import figures
from headrace.pages.catalogue import Entry
from headrace.pages.errors import PageMissing
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.links import Links
from headrace.pages.page import link, out, page, section
from headrace.pages.reads import Reads

SHOWN = 60


def release_page(entry: Entry, number: int, reads: Reads, links: Links) -> bytes:
    """A release and its difference to the one before. Raises `PageMissing`."""
    document, release = _release(entry, number, reads)
    parent = None if release.parent is None else release_numbered(reads.lake, entry.name, release.parent)
    changes = (
        compare(reads.lake, parent or Release(dataset=entry.name, number=0, parent=None, partitions={}), release)
        if _comparable(parent, release)
        else []
    )
    newest = reads.release(entry.name)
    in_use = newest is not None and newest.number == number
    return page(
        f"{entry.name} release {number}",
        section("What it is", _facts(release, document, in_use=in_use, entry=entry, links=links), _notes(release)),
        section("What it changed", _changes(entry, changes[:SHOWN], number, links), note=_since(parent, changes)),
        section("Partitions", _partitions(entry, release, links)),
        here="Datasets",
        links=links,
        lead=tag("span", link(entry.name, links.dataset(entry.name)), f", {entry.kind} of {entry.owner}"),
    )


def partition_page(entry: Entry, number: int, partition: str, reads: Reads, links: Links) -> bytes:
    """One partition of a release: shards, schema, lineage. Raises `PageMissing`."""
    _, release = _release(entry, number, reads)
    if partition not in release.partitions:
        raise PageMissing(
            f"{entry.name} release {number}",
            found=f"no partition {partition}",
            expected="one of its partitions",
            remedy="Go back to the release.",
        )
    document = reads.manifest_documents(release, [partition])[partition]
    manifest = manifest_from(partition, document)
    return page(
        f"{entry.name} {partition}",
        section("In figures", _counts(manifest)),
        section("Shards", _shards(manifest)),
        section("Where it comes from", _lineage(document, manifest, links)),
        section("Columns", _columns(manifest)),
        here="Datasets",
        links=links,
        lead=tag(
            "span",
            link(entry.name, links.dataset(entry.name)),
            ", ",
            link(f"release {number}", links.release(entry.name, number)),
        ),
    )


def _release(entry: Entry, number: int, reads: Reads) -> tuple[Document, Release]:
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


def _facts(release: Release, document: Document, *, in_use: bool, entry: Entry, links: Links) -> Html:
    run = document.run
    source = (
        out(str(run["run_id"]), links.airflow_run(str(run["dag"]), str(run["run_id"])))
        if {"run_id", "dag"} <= run.keys()
        else None
    )
    return facts(
        [
            ("State", tag("span", "in use" if in_use else "an earlier release", class_=f"badge t-{'ok' if in_use else 'none'}")),
            ("Digest", figures.digest(release.digest)),
            ("Partitions", figures.count(len(release.partitions))),
            (
                "Before it",
                None if release.parent is None else link(f"release {release.parent}", links.release(entry.name, release.parent)),
            ),
            ("Made", figures.moment(run["made_at"]) if "made_at" in run else None),
            ("By", source),
            ("Kind of run", run.get("run_kind")),
            (
                "Code",
                None if "code_version" not in run else tag("code", str(run["code_version"])[:16], title=str(run["code_version"])),
            ),
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


def _partitions(entry: Entry, release: Release, links: Links) -> Html:
    newest = sorted(release.partitions, reverse=True)
    shown = [
        tag("li", link(name, links.partition(entry.name, release.number, name)), " ", figures.digest(release.partitions[name]))
        for name in newest[:SHOWN]
    ]
    more = None if len(newest) <= SHOWN else tag("p", f"The newest {SHOWN} of {len(newest):,}.", class_="note")
    return join(tag("ul", *shown, class_="plain"), more)


def _counts(manifest: Manifest) -> Html:
    counts = manifest.counts
    return facts(
        [
            ("Samples", figures.count(counts.samples)),
            ("Size", figures.size(manifest.size_bytes)),
            ("Objects listed", figures.count(counts.listed)),
            ("Read", figures.count(counts.read)),
            ("Skipped", _reasons(counts.skipped)),
            ("Quarantined", _reasons(counts.quarantined)),
            ("Manifest", figures.digest(manifest.digest)),
        ]
    )


def _reasons(reasons: dict[str, int]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in reasons.items()) or "0"


def _shards(manifest: Manifest) -> Html:
    rows = [
        [tag("code", shard.sha256), figures.count(shard.rows), figures.size(shard.size_bytes), figures.count(shard.row_groups)]
        for shard in manifest.shards[:SHOWN]
    ]
    return table(("SHA-256", "Rows", "Size", "Row groups"), rows, caption="Shards in order", numbers=(1, 2, 3))


def _columns(manifest: Manifest) -> Html:
    return table(("Column", "Type"), [[column.name, tag("code", column.type)] for column in manifest.schema], caption="Columns")


def _lineage(document: Document, manifest: Manifest, links: Links) -> Html:
    run = document.run
    source = (
        out(str(run["run_id"]), links.airflow_run(str(run["dag"]), str(run["run_id"])))
        if {"run_id", "dag"} <= run.keys()
        else None
    )
    made = facts(
        [
            ("Inventory", figures.digest(manifest.inventory_digest)),
            ("Declaration", figures.digest(manifest.declaration_digest)),
            ("First made by", source),
            ("Made", figures.moment(run["made_at"]) if "made_at" in run else None),
            (
                "Code",
                None if "code_version" not in run else tag("code", str(run["code_version"])[:16], title=str(run["code_version"])),
            ),
            ("With", ", ".join(f"{name} {run[name]}" for name in ("headrace", "python", "pyarrow") if name in run) or None),
        ]
    )
    return join(
        made, _inputs(manifest.facts.get("inputs")), _transform(manifest.facts.get("transforms", manifest.facts.get("transform")))
    )


def _inputs(inputs: Any) -> Html:
    if not isinstance(inputs, list) or not inputs:
        return Html("")
    rows = [
        [one.get("dataset"), one.get("partition"), figures.digest(str(one.get("manifest", "")))]
        for one in inputs[:SHOWN]
        if isinstance(one, dict)
    ]
    return join(
        tag("h3", f"Computed from {figures.plural(len(inputs), 'partition')}"),
        table(("Dataset", "Partition", "Manifest"), rows, caption="Inputs"),
    )


def _transform(lineage: Any) -> Html:
    if not lineage:
        return Html("")
    import json

    return join(tag("h3", "Transforms"), tag("pre", json.dumps(lineage, indent=2, sort_keys=True)[:8000]))
