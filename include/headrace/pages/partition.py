"""One partition of a release: its figures, shards and columns, what it was computed from, and the code of a transform's."""

from __future__ import annotations

from typing import Any

from headrace.manifests.document import Document
from headrace.manifests.manifest import Manifest, manifest_from
from headrace.pages import figures
from headrace.pages.catalogue import Entry
from headrace.pages.code import code_of
from headrace.pages.errors import PageMissing
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.links import Links
from headrace.pages.maker import made_by
from headrace.pages.page import link, page, section
from headrace.pages.reads import Reads
from headrace.pages.release import release_at
from headrace.pages.verified import looks_at, verified_cell
from headrace.runs.verified import Look, read_looks

SHOWN = 60


def partition_page(entry: Entry, number: int, partition: str, reads: Reads, links: Links) -> bytes:
    """One partition of a release: shards, schema, lineage. Raises `PageMissing`."""
    _, release = release_at(entry, number, reads)
    if partition not in release.partitions:
        raise PageMissing(
            f"{entry.name} release {number}",
            found=f"no partition {partition}",
            expected="one of its partitions",
            remedy="Go back to the release.",
        )
    document = reads.manifest_documents(release, [partition])[partition]
    manifest = manifest_from(partition, document)
    looks = read_looks(reads.lake, entry.name)
    return page(
        f"{entry.name} {partition}",
        section("In figures", _counts(manifest, looks_at({partition: manifest.digest}, looks).get(partition))),
        section("Shards", _shards(manifest), note=_again(entry.name, partition)),
        section("Where it comes from", _lineage(document, manifest, links), _inputs(manifest, reads, links)),
        *code_of(entry.name, manifest, reads),
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


def _counts(manifest: Manifest, look: Look | None) -> Html:
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
            ("Last verified", verified_cell(look)),
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


def _again(name: str, partition: str) -> Html:
    again = tag("code", f"headrace verify {name} {partition}")
    return tag("span", "Each was read back and compared when it was written. To read them again: ", again)


def _lineage(document: Document, manifest: Manifest, links: Links) -> Html:
    run = document.run
    return facts(
        [
            ("Inventory", figures.digest(manifest.inventory_digest)),
            ("Declaration", figures.digest(manifest.declaration_digest)),
            *made_by(run, links),
            ("With", ", ".join(f"{name} {run[name]}" for name in ("headrace", "python", "pyarrow") if name in run) or None),
        ]
    )


def _inputs(manifest: Manifest, reads: Reads, links: Links) -> Html:
    """The partitions it was computed from; those still in use lead to their own pages."""
    given: list[dict[str, Any]] = [*manifest.facts.get("inputs", []), *_transformed(manifest)]
    if not given:
        return Html("")
    releases = {name: reads.release(name) for name in dict.fromkeys(str(one["dataset"]) for one in given)}
    rows = []
    for one in given[:SHOWN]:
        release, partition = releases[str(one["dataset"])], str(one["partition"])
        current = release is not None and release.partitions.get(partition) == one["manifest"]
        name = (
            link(partition, links.partition(str(one["dataset"]), release.number, partition)) if release and current else partition
        )
        rows.append(
            [one["dataset"], name, figures.digest(str(one["manifest"])), "in use" if current else "another is in use now"]
        )
    return join(
        tag("h3", f"Computed from {figures.plural(len(given), 'partition')}"),
        table(("Dataset", "Partition", "Manifest", "Now"), rows, caption="Inputs"),
    )


def _transformed(manifest: Manifest) -> list[dict[str, Any]]:
    made = manifest.facts.get("transform")
    return [] if made is None else [made["input"]]
