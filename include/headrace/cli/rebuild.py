"""`headrace rebuild`: a partition's index, or its whole manifest, made again from its shards."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, by_hand, open_lake


def rebuild(
    dataset: DatasetName,
    partition: Annotated[str, typer.Argument(help="The partition, such as 2013-01-05.")],
    *,
    under: Annotated[
        str | None, typer.Option("--under", help="Where the manifest is lost: the prefix of the partition's source keys.")
    ] = None,
    shard: Annotated[list[str] | None, typer.Option("--shard", help="The same, by SHA-256; may be repeated.")] = None,
    publish: Annotated[bool, typer.Option("--publish", help="Put it in use; without this, only store it.")] = False,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Make a lost or damaged index again; where the manifest is lost too, make one from the shards alone (--under or --shard)."""
    from headrace.manifests.promote import promote, write_candidate
    from headrace.shards.rebuild import rebuild as made_again

    store, identity = open_lake(lake), by_hand("rebuild", partition).document()
    manifest = made_again(store, dataset, partition, under=under, shards=shard)
    digest = write_candidate(store, manifest, identity)
    release = promote(store, dataset, {partition: digest}, identity).number if publish else None
    if as_json:
        render.print_json({"dataset": dataset, "partition": partition, "manifest": digest, "release": release})
        return
    use = "stored; add --publish to put it in use" if release is None else f"in release {release}"
    samples, shards = render.count(manifest.counts.samples, "sample"), render.count(len(manifest.shards), "shard")
    typer.echo(f"{dataset} {partition}: {samples} in {shards}, manifest {digest}, {use}.")
