"""`headrace ls`: the datasets of a lake, the partitions of a dataset, the files of a release."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, Lake, ReleaseNumber, open_lake
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.history import named_release
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import latest, manifest_of

_NUMBERS = frozenset({"release", "partitions", "samples", "shards", "size", "quarantined"})


def ls(
    dataset: Annotated[str | None, typer.Argument(help="A dataset; without one, all of them.")] = None,
    *,
    release: ReleaseNumber = None,
    files: Annotated[bool, typer.Option("--files", help="Only the shards' URIs, in order, for other tools to read.")] = False,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """List datasets, or the partitions of one."""
    store = open_lake(lake)
    if dataset is None:
        _datasets(store, as_json=as_json)
        return
    manifests = _manifests(store, dataset, release)
    if files:
        _files(store, dataset, manifests, as_json=as_json)
        return
    lines = [_line(manifest) for manifest in manifests]
    if as_json:
        render.print_json(lines)
        return
    rows = [
        [
            line["partition"],
            f"{line['samples']:,}",
            str(line["shards"]),
            render.size(line["size_bytes"]),
            str(line["quarantined"]),
            render.short(line["manifest"]),
        ]
        for line in lines
    ]
    render.print_table(dataset, ["partition", "samples", "shards", "size", "quarantined", "manifest"], rows, numbers=_NUMBERS)


def dataset_names(store: Store) -> list[str]:
    """The datasets that have a pointer, sorted."""
    return sorted(
        {info.key.partition("/")[0] for info in store.list() if info.key.endswith("/LATEST") and info.key.count("/") == 1}
    )


def _datasets(store: Store, *, as_json: bool) -> None:
    lines = []
    for name in dataset_names(store):
        found = latest(store, name)
        if found is not None:
            release = found.release
            lines.append(
                {"dataset": name, "release": release.number, "partitions": len(release.partitions), "digest": release.digest}
            )
    if as_json:
        render.print_json(lines)
        return
    if not lines:
        typer.echo(f"No dataset has a release in {store.uri}.")
        return
    rows = [
        [str(line["dataset"]), str(line["release"]), str(line["partitions"]), render.short(str(line["digest"]))] for line in lines
    ]
    render.print_table(store.uri, ["dataset", "release", "partitions", "digest"], rows, numbers=_NUMBERS)


def _manifests(store: Store, dataset: str, number: int | None) -> list[Manifest]:
    release = named_release(store, dataset, number)
    return [manifest_of(store, release, partition) for partition in sorted(release.partitions)]


def _files(store: Store, dataset: str, manifests: list[Manifest], *, as_json: bool) -> None:
    uris = [f"{store.uri}/{layout.shard(dataset, shard.sha256)}" for manifest in manifests for shard in manifest.shards]
    if as_json:
        render.print_json(uris)
    else:
        for uri in uris:
            typer.echo(uri)


def _line(manifest: Manifest) -> dict[str, Any]:
    return {
        "partition": manifest.partition,
        "manifest": manifest.digest,
        "samples": manifest.counts.samples,
        "shards": len(manifest.shards),
        "size_bytes": manifest.size_bytes,
        "quarantined": sum(manifest.counts.quarantined.values()),
    }
