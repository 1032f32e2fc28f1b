"""`headrace plan`: what would be recomputed, before it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, Lake, open_lake
from headrace.errors import FinalError
from headrace.lake.store import Store
from headrace.manifests.read import latest
from headrace.settings import declarations_folder
from headrace.spec.load import load_declarations
from headrace.spec.transform import Transform


class TransformUnknown(FinalError, LookupError):
    """No declaration has that name."""

    __str__ = FinalError.__str__  # LookupError would print the tuple of its arguments


def plan(
    transform: Annotated[str | None, typer.Argument(help="A declared transform; without one, all.")] = None,
    partition: Annotated[str | None, typer.Argument(help="A partition; without one, all of the input's newest release.")] = None,
    *,
    declarations: Annotated[
        Path | None, typer.Option("--declarations", help="Folder of declaration files; else HEADRACE_DECLARATIONS.")
    ] = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Say which input shards would be transformed, how many bytes, and why. Changes nothing."""
    declared = load_declarations(declarations_folder() if declarations is None else declarations).transforms
    chosen = [one for one in declared if transform is None or one.name == transform]
    if transform is not None and not chosen:
        raise TransformUnknown(
            f"transform {transform}",
            found="no such declaration",
            expected=", ".join(one.name for one in declared) or "a declared transform",
            remedy="Correct the name, or HEADRACE_DECLARATIONS.",
        )
    store = open_lake(lake)
    lines = [line for one in chosen for line in _lines(store, one, partition)]
    if as_json:
        render.print_json(lines)
        return
    columns = ("transform", "partition", "shards", "to do", "bytes", "why")
    rows = [
        [*(str(line[name]) for name in columns[:4]), render.size(line["bytes"]), "\n".join([line["why"], *line["changes"]])]
        for line in lines
    ]
    render.print_table("To transform", columns, rows, numbers=frozenset({"shards", "to do", "bytes"}))
    shards, left = sum(line["to do"] for line in lines), sum(line["bytes"] for line in lines)
    typer.echo(f"{render.count(shards, 'shard')}, {render.size(left)} to transform")


def _lines(store: Store, transform: Transform, partition: str | None) -> list[dict[str, Any]]:
    from headrace.transforms.plan import plan_transform

    given = latest(store, transform.dataset)
    partitions = sorted(given.release.partitions) if given is not None and partition is None else [partition or ""]
    if given is None:
        nothing = {"shards": 0, "to do": 0, "bytes": 0, "why": "input not published", "changes": []}
        return [{"transform": transform.name, "partition": "", **nothing}]
    lines = []
    for one in partitions:
        made = plan_transform(transform, one, lake=store)
        lines.append(
            {
                "transform": transform.name,
                "partition": one,
                "shards": len(made.input.shards),
                "to do": len(made.missing),
                "bytes": made.missing_bytes,
                "why": ", ".join(made.why) or "nothing changed",
                "changes": list(made.changed_code),
            }
        )
    return lines
