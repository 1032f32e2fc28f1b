"""`headrace export`: a release for loaders that cannot read Parquet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, ReleaseNumber, open_lake
from headrace.manifests.history import named_release
from headrace.manifests.read import manifest_of


class Target(StrEnum):
    """Formats that can be written."""

    MDS = "mds"
    WEBDATASET = "webdataset"


def export(
    dataset: DatasetName,
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    *,
    target: Annotated[Target, typer.Option("--format", help="mds for mosaicml-streaming, webdataset for tar files.")],
    partition: Annotated[list[str] | None, typer.Option("--partition", help="Only these partitions; may be repeated.")] = None,
    release: ReleaseNumber = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Write a release as MDS or WebDataset files, in the order of its partitions and shards."""
    from headrace.shards import export as exporter

    store = open_lake(lake)
    found = named_release(store, dataset, release)
    manifests = [manifest_of(store, found, name) for name in (partition or sorted(found.partitions))]
    total = sum(manifest.counts.samples for manifest in manifests)
    with render.count_progress(f"export {dataset}", total) as advance:
        written = exporter.export(store, manifests, folder, target.value, on_samples=advance)
    if as_json:
        render.print_json(
            {"dataset": dataset, "release": found.number, "format": target.value, "folder": str(folder), "samples": written}
        )
    else:
        typer.echo(f"{dataset} release {found.number}: {render.count(written, 'sample')} as {target.value} in {folder}.")
