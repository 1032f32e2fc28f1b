"""`headrace index`: the indexes of all partitions as one, so that a sample is found by its ID without asking each."""

from __future__ import annotations

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, open_lake


def index(dataset: DatasetName, *, lake: Lake = None, as_json: AsJson = False) -> None:
    """Make one index over all partitions of the newest release.

    With it `replay` and `show --sample` find an ID without asking every partition. It covers the partitions as they are now: do it again
    when many have come or changed; until then those are asked themselves.
    """
    from headrace.manifests.read import published
    from headrace.shards.lookup import write_lookup

    store = open_lake(lake)
    release = published(store, dataset)
    files = write_lookup(store, release)
    ids, size = sum(one.rows for one in files), sum(one.size_bytes for one in files)
    partitions = len(release.partitions)
    if as_json:
        told = {"dataset": dataset, "release": release.number, "partitions": partitions, "ids": ids}
        render.print_json({**told, "files": len(files), "bytes": size})
        return
    ids_of = f"{render.count(ids, 'ID')} of {render.count(partitions, 'partition')} (samples, and what failed or was refused)"
    typer.echo(f"{dataset} release {release.number}: {ids_of}, in {render.count(len(files), 'file')}, {render.size(size)}.")
