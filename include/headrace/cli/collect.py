"""`headrace gc`: remove what nothing can reach."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Annotated

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, open_lake
from headrace.manifests.errors import NotPublished
from headrace.manifests.gc import GRACE, Sweep, collect, find_garbage


def gc(
    dataset: DatasetName,
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Remove it; without this, only say what would go.")] = False,
    keep_releases: Annotated[
        int | None, typer.Option("--keep-releases", min=1, help="Keep so many of the newest releases; without this, all.")
    ] = None,
    grace_hours: Annotated[
        float, typer.Option("--grace-hours", min=0, help="What is younger stays: a running publication may use it.")
    ] = GRACE / timedelta(hours=1),
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Find (and with --delete remove) shards, indexes, manifests and plans that no release, pointer or running publication needs."""
    store, grace = open_lake(lake), timedelta(hours=grace_hours)
    sweep = find_garbage(store, dataset, grace=grace, keep_releases=keep_releases)
    if not sweep.garbage and sweep.kept_objects == 0:
        raise NotPublished(
            f"{store.uri}/{dataset}", found="no object", expected="a dataset of this lake", remedy="See `headrace ls`."
        )
    removed = 0
    if delete:
        with render.count_progress(f"gc {dataset}", len(sweep.garbage)) as advance:
            removed = collect(store, sweep, grace=grace, keep_releases=keep_releases, on_removed=lambda _: advance(1))
    if as_json:
        listed = [{"key": info.key, "size_bytes": info.size_bytes} for info in sweep.garbage]
        render.print_json({"dataset": dataset, "garbage": listed, "removed": removed, "kept_objects": sweep.kept_objects})
        return
    _print(sweep, removed, delete=delete)


def _print(sweep: Sweep, removed: int, *, delete: bool) -> None:
    kept = f"{render.count(sweep.kept_objects, 'object')}, {render.size(sweep.kept_bytes)}, stay"
    if not sweep.garbage:
        typer.echo(f"Nothing was removed: everything is needed or younger than the grace; {kept}.")
        return
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for info in sweep.garbage:
        room = info.key.split("/")[1]
        counts[room] += 1
        sizes[room] += info.size_bytes
    rows = [[room, f"{counts[room]:,}", render.size(sizes[room])] for room in sorted(counts)]
    render.print_table(
        f"{sweep.dataset}: not reachable", ["what", "objects", "size"], rows, numbers=frozenset({"objects", "size"})
    )
    if delete:
        typer.echo(f"Removed {render.count(removed, 'object')}; {kept}.")
    else:
        typer.echo(f"Nothing was removed; {kept}. Add --delete to remove {render.count(len(sweep.garbage), 'object')}.")
