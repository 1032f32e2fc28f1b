"""`headrace index`: the indexes of all partitions as one, so that a sample is found by its ID without asking each."""

from __future__ import annotations

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, open_lake


def index(dataset: DatasetName, *, lake: Lake = None, as_json: AsJson = False) -> None:
    """Merge the sample indexes of the newest release. Do it again when many days have come since; a reader asks those themselves."""
    from headrace.manifests.read import published
    from headrace.shards.lookup import write_lookup

    store = open_lake(lake)
    release = published(store, dataset)
    made = write_lookup(store, release)
    size = sum(entry.size_bytes for entry in made.files)
    if as_json:
        told = {"dataset": dataset, "release": release.number, "partitions": len(made.partitions), "samples": made.rows}
        render.print_json({**told, "files": len(made.files), "bytes": size})
        return
    samples, partitions = render.count(made.rows, "sample"), render.count(len(made.partitions), "partition")
    files = render.count(len(made.files), "file")
    typer.echo(f"{dataset}: {samples} of {partitions}, release {release.number}, in {files}, {render.size(size)}.")
