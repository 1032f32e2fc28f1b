"""The code that made a transform's shards, as it lies in the lake: its steps, what changed since the release before, and the text.

What ran is kept under its fingerprint beside the manifests (`transforms/code_store.py`), so the page shows what ran then, whatever the
project holds today.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from headrace.lake import layout
from headrace.manifests.document import Document
from headrace.manifests.manifest import Manifest
from headrace.pages import figures
from headrace.pages.html import Html, facts, join, table, tag
from headrace.pages.page import section
from headrace.pages.reads import Reads

CODES_SHOWN: Final = 3
_TEXT_SHOWN: Final = 40_000  # characters of one module
_DIFFERENCE_SHOWN: Final = 400  # lines


def fingerprints(manifests: Mapping[str, Manifest]) -> dict[str, list[str]]:
    """The partitions of each fingerprint, the one that made the newest partition first; empty for what no transform made."""
    found: dict[str, list[str]] = {}
    for partition, manifest in sorted(manifests.items(), reverse=True):
        made: dict[str, Any] = manifest.facts.get("transform", {})
        if made:
            found.setdefault(str(made["fingerprint"]), []).append(partition)
    return found


def code_sections(name: str, now: Mapping[str, Manifest], before: Mapping[str, Manifest], reads: Reads) -> list[Html]:
    """The code of a release, and how it differs from the code of the release before it; nothing for what no transform made."""
    made, earlier = fingerprints(now), fingerprints(before)
    known = _documents(name, [*made, *earlier], reads)
    sections = [
        section(
            f"Code of {_span(partitions)}",
            code_facts(now[partitions[0]], known.get(fingerprint)),
            modules(known.get(fingerprint)),
        )
        for fingerprint, partitions in list(made.items())[:CODES_SHOWN]
    ]
    new = [fingerprint for fingerprint in made if fingerprint not in earlier]
    if new and earlier:
        sections.insert(0, _difference(known.get(next(iter(earlier))), known.get(new[0])))
    return sections


def code_of(name: str, manifest: Manifest, reads: Reads) -> list[Html]:
    """The code of one partition; nothing for what no transform made."""
    return code_sections(name, {manifest.partition: manifest}, {}, reads)


def code_facts(manifest: Manifest, kept: Document | None) -> Html:
    """Steps with their versions and parameters, and what identifies the code."""
    made: dict[str, Any] = manifest.facts["transform"]
    packages = {} if kept is None else kept.run.get("packages", {})
    rows = [
        [
            step["name"],
            step["version"],
            tag("code", step["function"], class_="whole"),
            tag("span", ", ".join(f"{name}={value}" for name, value in step["parameters"]) or "none", class_="whole"),
        ]
        for step in made["steps"]
    ]
    return join(
        table(("Step", "Version", "Function", "Parameters"), rows, caption="Steps in order"),
        facts(
            [
                ("Fingerprint", figures.digest(str(made["fingerprint"]))),
                ("Counts for it", _versions(made["packages"])),
                ("Ran with", _versions(packages | ({} if kept is None else {"python": kept.run.get("python", "unknown")}))),
            ]
        ),
    )


def modules(kept: Document | None) -> Html:
    """Every module the steps reach, whole, folded."""
    if kept is None:
        return tag("p", "The code is no longer in the lake: garbage collection has removed it.", class_="note")
    return join(
        *(
            tag(
                "details",
                tag("summary", tag("code", name), f", {figures.plural(text.count(chr(10)), 'line')}"),
                tag("pre", _cut(text)),
            )
            for name, text in kept.content["modules"].items()
        )
    )


def _documents(name: str, digests: Iterable[str], reads: Reads) -> dict[str, Document]:
    """The kept code by fingerprint; what was collected is left out."""
    keys = {layout.code(name, digest): digest for digest in dict.fromkeys(digests)}
    infos = [info for key in keys if (info := reads.lake.head(key)) is not None]
    return {keys[key]: document for key, document in reads.documents(infos).items()}


def _difference(before: Document | None, now: Document | None) -> Html:
    if before is None or now is None:
        return section("Code that changed", tag("p", "The earlier code is no longer in the lake.", class_="note"))
    old, new = before.content["modules"], now.content["modules"]
    lines = [
        line
        for name in sorted({*old, *new})
        for line in difflib.unified_diff(old.get(name, "").splitlines(), new.get(name, "").splitlines(), name, name, lineterm="")
    ]
    shown = "\n".join(lines[:_DIFFERENCE_SHOWN])
    same = tag("p", "No text differs: parameters, versions or packages do.", class_="note")
    body = same if not lines else tag("pre", shown + ("\n..." if len(lines) > _DIFFERENCE_SHOWN else ""))
    return section("Code that changed", body, note="Since the release before; every shard it touches was made anew.")


def _versions(packages: Mapping[str, str]) -> str | None:
    return ", ".join(f"{name} {version}" for name, version in sorted(packages.items())) or None


def _span(partitions: list[str]) -> str:
    if len(partitions) == 1:
        return partitions[0]
    return f"{figures.count(len(partitions))} partitions, {min(partitions)} to {max(partitions)}"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN else f"{text[:_TEXT_SHOWN]}\n... {len(text) - _TEXT_SHOWN:,} characters more"
