"""`headrace history` and `headrace rollback`: how a dataset came to be what it is, and back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, by_hand, open_lake
from headrace.manifests import history as releases
from headrace.manifests.history import HistoryLine
from headrace.manifests.read import pointers
from headrace.manifests.release import Pointer

_FEW = 3


def history(
    dataset: DatasetName,
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many releases.")] = 20,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """The releases, newest first: what names them, when, by which run, what changed."""
    store = open_lake(lake)
    names = pointers(store, dataset)
    lines = [_plain(line, names) for line in releases.history(store, dataset, limit=limit)]
    if as_json:
        render.print_json(lines)
        return
    rows = [
        [
            str(line["release"]),
            ", ".join(line["names"]),
            line["made_at"] or "",
            line["by"],
            _changes(line),
            render.short(line["digest"]),
        ]
        for line in lines
    ]
    render.print_table(
        dataset, ["release", "named", "made at", "by", "partitions", "digest"], rows, numbers=frozenset({"release"})
    )


def rollback(
    dataset: DatasetName,
    *,
    to: Annotated[int, typer.Option("--to", help="Number of the release whose partitions to publish again.")],
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Make the next release from an old one's partitions. Nothing is removed; readers see the one or the other."""
    release = releases.rollback(open_lake(lake), dataset, to, by_hand("rollback").document())
    if as_json:
        render.print_json({"dataset": dataset, "release": release.number, "digest": release.digest, "rolled_back_to": to})
    else:
        count = render.count(len(release.partitions), "partition")
        typer.echo(f"{dataset}: release {release.number} has the {count} of release {to}.")


def _plain(line: HistoryLine, names: dict[str, Pointer]) -> dict[str, Any]:
    run = line.run
    back = run.get("rolled_back_to")
    return {
        "release": line.release.number,
        "names": sorted(name for name, pointer in names.items() if pointer.number == line.release.number),
        "digest": line.release.digest,
        "made_at": run.get("made_at"),
        "by": " ".join(str(run[name]) for name in ("dag", "run_id") if run.get(name)),
        "rolled_back_to": back,
        "added": list(line.added),
        "changed": list(line.changed),
        "removed": list(line.removed),
        "notes": [f"{note.partition} {note.kind}: {note.text}" for note in line.release.notes],
    }


def _changes(line: dict[str, Any]) -> str:
    parts = [] if line["rolled_back_to"] is None else [f"back to {line['rolled_back_to']}"]
    for sign, name in (("+", "added"), ("~", "changed"), ("-", "removed")):
        keys = line[name]
        if keys:
            parts.append(
                " ".join(f"{sign}{key}" for key in keys[:_FEW]) + (f" and {len(keys) - _FEW} more" if len(keys) > _FEW else "")
            )
    return ", ".join(parts)
