"""`headrace verify`: read every byte of a release again and name what is broken."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, ReleaseNumber, open_lake
from headrace.errors import HeadraceError
from headrace.lake.store import Store
from headrace.manifests.history import named_release
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of
from headrace.manifests.release import Release
from headrace.shards.verify import Finding, verify_partition

BROKEN: Final = 1


def verify(
    dataset: DatasetName,
    partition: Annotated[str | None, typer.Argument(help="Only this partition.")] = None,
    *,
    release: ReleaseNumber = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Re-read every byte of a release; exits 1 and names each broken shard, index or manifest."""
    store = open_lake(lake)
    found = named_release(store, dataset, release)
    findings: list[Finding] = []
    manifests: list[Manifest] = []
    for name in sorted(found.partitions) if partition is None else [partition]:
        manifest = _manifest(store, found, name, findings)
        if manifest is not None:
            manifests.append(manifest)
    total = sum(manifest.size_bytes + sum(entry.size_bytes for entry in manifest.index) for manifest in manifests)
    with render.bytes_progress(f"verify {dataset}", total) as advance:
        for manifest in manifests:
            findings += verify_partition(store, manifest, on_bytes=advance)
    checked = {"partitions": len(manifests), "shards": sum(len(one.shards) for one in manifests), "bytes": total}
    if as_json:
        render.print_json(
            {"dataset": dataset, "release": found.number, "checked": checked, "findings": [asdict(one) for one in findings]}
        )
    else:
        for one in findings:
            typer.echo(f"{one.partition}: {one.subject}: found {one.found}; expected {one.expected}. {one.remedy}")
        verdict = "all as published" if not findings else f"{len(findings)} broken"
        shards = f"{render.count(checked['shards'], 'shard')} in {render.count(checked['partitions'], 'partition')}"
        typer.echo(f"{dataset} release {found.number}: {shards}, {render.size(total)}: {verdict}.")
    if findings:
        raise typer.Exit(BROKEN)


def _manifest(store: Store, release: Release, partition: str, findings: list[Finding]) -> Manifest | None:
    try:
        return manifest_of(store, release, partition)
    except HeadraceError as error:
        if partition not in release.partitions:
            raise
        facts = {name: getattr(error, name) for name in ("subject", "found", "expected", "remedy")}
        findings.append(Finding(partition=partition, **facts))
        return None
