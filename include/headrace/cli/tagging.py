"""`headrace tag`: names for releases."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, ReleaseNumber, open_lake
from headrace.lake.store import Store
from headrace.manifests.read import pointers, published
from headrace.manifests.tags import remove_tag, tag_release


def tag(
    dataset: DatasetName,
    name: Annotated[str | None, typer.Argument(help="Name of the tag; without it, list those there are.")] = None,
    *,
    release: ReleaseNumber = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the tag; its release stays until it is collected.")] = False,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Give a release a name, or move the name to another release. Loaders open it by that name, and gc keeps what it names."""
    store = open_lake(lake)
    if name is None:
        if remove or release is not None:
            raise typer.BadParameter("name the tag to remove" if remove else "name the tag to make")
        _print_all(store, dataset, as_json=as_json)
    elif remove:
        remove_tag(store, dataset, name)
        _say({"dataset": dataset, "removed": name}, f"{dataset}: {name} is no tag any more.", as_json=as_json)
    else:
        named = tag_release(store, dataset, name, release)
        told = {"dataset": dataset, "tag": name, "release": named.number, "digest": named.digest}
        _say(told, f"{dataset}: {name} names release {named.number}.", as_json=as_json)


def _print_all(store: Store, dataset: str, *, as_json: bool) -> None:
    published(store, dataset)
    there = sorted(pointers(store, dataset).items())
    if as_json:
        render.print_json([{"tag": tag, "release": to.number, "digest": to.digest} for tag, to in there])
    else:
        rows = [[tag, str(to.number), render.short(to.digest)] for tag, to in there]
        render.print_table(dataset, ["tag", "release", "digest"], rows, numbers=frozenset({"release"}))


def _say(told: dict[str, object], line: str, *, as_json: bool) -> None:
    if as_json:
        render.print_json(told)
    else:
        typer.echo(line)
