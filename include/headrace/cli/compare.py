"""`headrace diff`: what two releases do not have in common."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, open_lake
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.compare import PartitionChange, compare
from headrace.manifests.history import named_release

_NUMBERS = frozenset({"samples before", "after", "shards kept", "new", "gone", "bytes new", "objects new", "changed", "dropped"})


def diff(
    dataset: DatasetName,
    old: Annotated[int, typer.Argument(help="Number of the older release.")],
    new: Annotated[int | None, typer.Argument(help="Number of the newer release; else the one in use.")] = None,
    *,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Compare two releases: partitions, samples, shards and source objects."""
    store = open_lake(lake)
    before, after = named_release(store, dataset, old), named_release(store, dataset, new)
    lines = [{**asdict(change), "objects": _objects(store, dataset, change)} for change in compare(store, before, after)]
    if as_json:
        render.print_json({"dataset": dataset, "old": before.number, "new": after.number, "partitions": lines})
        return
    columns = [
        "partition",
        "",
        "samples before",
        "after",
        "shards kept",
        "new",
        "gone",
        "bytes new",
        "objects new",
        "changed",
        "dropped",
    ]
    render.print_table(f"{dataset} {before.number} to {after.number}", columns, [_row(line) for line in lines], numbers=_NUMBERS)


def _row(line: dict[str, Any]) -> list[str]:
    names = ("samples_before", "samples_after", "shards_kept", "shards_new", "shards_gone")
    objects = line["objects"]
    counts = ["?"] * 3 if objects is None else [str(len(objects[name])) for name in ("new", "changed", "gone")]
    return [line["partition"], line["kind"], *(f"{line[name]:,}" for name in names), render.size(line["bytes_new"]), *counts]


def _objects(store: Store, dataset: str, change: PartitionChange) -> dict[str, list[str]] | None:
    """Source objects by what happened to them; None when an inventory is not (or no longer) kept."""
    from headrace.sources.inventory import Inventory, difference, kept_inventory

    nothing = Inventory(partition=change.partition, objects=(), skipped=())
    try:
        old, new = (
            nothing if digest is None else kept_inventory(store, dataset, digest)
            for digest in (change.inventory_before, change.inventory_after)
        )
    except ObjectMissing:
        return None
    return {name: list(keys) for name, keys in asdict(difference(old, new)).items()}
