"""`headrace rollup`: days too small to fill a shard become a month."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, by_hand, open_lake


def rollup(
    dataset: DatasetName,
    month: Annotated[str, typer.Argument(help="The month, YYYY-MM.")],
    *,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Write the days of a month as one partition of `<dataset>_monthly`; again only when a day changed."""
    from headrace.shards.rollup import roll_up

    manifest, release = roll_up(open_lake(lake), dataset, month, by_hand("rollup", month))
    if as_json:
        render.print_json(
            {"dataset": manifest.dataset, "partition": month, "manifest": manifest.digest, "release": release.number}
        )
        return
    shards = f"{render.count(len(manifest.shards), 'shard')}, {render.size(manifest.size_bytes)}"
    typer.echo(
        f"{manifest.dataset} {month}: {render.count(manifest.counts.samples, 'sample')} in {shards}, in release {release.number}."
    )
