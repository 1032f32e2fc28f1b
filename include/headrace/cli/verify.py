"""`headrace verify`: read every byte of a release again, name what is broken, and write down what was read.

What was read whole stands on the pages as the nightly maintenance's look does. Who may not write to the lake may verify it all the same:
then the looks are not written down, which one line says, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, ReleaseNumber, open_lake
from headrace.errors import FinalError, HeadraceError
from headrace.lake.errors import AccessRefused
from headrace.lake.store import Store
from headrace.manifests.history import named_release
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of, published
from headrace.manifests.release import Release
from headrace.runs.verified import by_hand, keep_looks
from headrace.shards.verify import Finding, finding_of, verify_partition

BROKEN: Final = 1


def verify(
    dataset: DatasetName,
    partition: Annotated[str | None, typer.Argument(help="Only this partition.")] = None,
    *,
    release: ReleaseNumber = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Re-read every byte of a release; exits 1 and names each broken shard, index or manifest. The pages then show when that was."""
    store = open_lake(lake)
    found = named_release(store, dataset, release)
    names = sorted(found.partitions) if partition is None else [partition]
    findings: list[Finding] = []
    manifests = [one for name in names if (one := _manifest(store, found, name, findings)) is not None]
    total = sum(manifest.size_bytes + sum(entry.size_bytes for entry in manifest.index) for manifest in manifests)
    with render.bytes_progress(f"verify {dataset}", total) as advance:
        for manifest in manifests:
            findings += verify_partition(store, manifest, on_bytes=advance)
    recorded = _keep(store, found, names, findings)
    checked = {"partitions": len(manifests), "shards": sum(len(one.shards) for one in manifests), "bytes": total}
    if as_json:
        said = {"checked": checked, "findings": [asdict(one) for one in findings], "recorded": recorded}
        render.print_json({"dataset": dataset, "release": found.number, **said})
    else:
        _tell(found, checked, findings)
    if findings:
        raise typer.Exit(BROKEN)


def _manifest(store: Store, release: Release, partition: str, findings: list[Finding]) -> Manifest | None:
    try:
        return manifest_of(store, release, partition)
    except AccessRefused:
        raise  # says nothing about the bytes, nor does a store that gives no answer
    except FinalError as error:
        if partition not in release.partitions:
            raise
        findings.append(finding_of(partition, error))
        return None


def _keep(store: Store, release: Release, partitions: Sequence[str], findings: Sequence[Finding]) -> int:
    """Write the looks down; how many were. None of it changes what was found, so a lake that takes no writes is only told."""
    try:
        found = by_hand(release, partitions, findings, in_use=published(store, release.dataset))
        keep_looks(store, release.dataset, found, datetime.now(UTC))
    except (HeadraceError, OSError) as error:  # OSError: a lake in a folder
        typer.echo(f"headrace: verified, but not written down for the pages: {error}", err=True)
        return 0
    return len(found.partitions)


def _tell(release: Release, checked: dict[str, int], findings: Sequence[Finding]) -> None:
    for one in findings:
        typer.echo(f"{one.partition}: {one.subject}: found {one.found}; expected {one.expected}. {one.remedy}")
    verdict = "all as published" if not findings else f"{len(findings)} broken"
    shards = f"{render.count(checked['shards'], 'shard')} in {render.count(checked['partitions'], 'partition')}"
    typer.echo(f"{release.dataset} release {release.number}: {shards}, {render.size(checked['bytes'])}: {verdict}.")
