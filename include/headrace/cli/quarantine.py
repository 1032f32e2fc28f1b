"""`headrace quarantine`: objects that were refused, why, and how to bring them back."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, open_lake
from headrace.errors import FinalError
from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.immutable import overwrite
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.read import latest, manifest_of
from headrace.settings import source_uri
from headrace.sources.inventory import shown
from headrace.sources.quarantine import Quarantined, records


class NotQuarantined(FinalError, LookupError):
    """No such object in quarantine."""


def quarantine(
    dataset: DatasetName,
    partition: Annotated[str, typer.Argument(help="The partition the objects were listed in.")],
    *,
    save: Annotated[Path | None, typer.Option("--save", help="Copy the kept objects into this folder, to be mended.")] = None,
    readmit: Annotated[str | None, typer.Option("--readmit", help="Key of an object to land again, from --file.")] = None,
    file: Annotated[Path | None, typer.Option("--file", exists=True, dir_okay=False, help="The mended object.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="URI the object's key is below; else HEADRACE_SOURCE.")] = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """List refused objects; save them; land a mended one again."""
    store = open_lake(lake)
    found = list(records(store, dataset, partition))
    if readmit is not None:
        _readmit({shown(item.key): item.key for item in found}, f"{dataset} for {partition}", readmit, file, source)
        return
    if save is not None:
        _save(store, dataset, partition, found, save)
        return
    standing = _standing(store, dataset, partition)
    lines = [
        {
            **asdict(item),
            "key": shown(item.key),
            "state": "left out of the release" if item.name in standing else "of another run",
        }
        for item in found
    ]
    if as_json:
        render.print_json(lines)
        return
    if not lines:
        typer.echo(f"{dataset} {partition}: nothing is in quarantine.")
        return
    columns = ("reason", "found", "expected", "remedy", "state")
    rows = [[_where(item), *(str(line[name]) for name in columns)] for item, line in zip(found, lines, strict=True)]
    render.print_table(f"{dataset} {partition}", ("where", *columns), rows)


def _where(item: Quarantined) -> str:
    """The object, with the row and the column where the refusal names them; below it, the step and the sample that failed."""
    if item.sample_id != "":
        return "\n".join((item.key, *item.subject.split(", ")))
    key = shown(item.key)
    return item.subject if key in item.subject else f"{key} {item.subject}"


def _standing(store: Store, dataset: str, partition: str) -> set[str]:
    """What the partition in use was published without, by the names of the records."""
    current = latest(store, dataset)
    if current is None or partition not in current.release.partitions:
        return set()
    facts = manifest_of(store, current.release, partition).facts
    return {item["record"] for item in facts.get("quarantined", [])}


def _save(store: Store, dataset: str, partition: str, found: list[Quarantined], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for item in found:
        # The key may hold anything, so it only decorates a name that is ours.
        name = f"{item.name}-{re.sub(r'[^A-Za-z0-9._-]', '_', item.key.rpartition('/')[2])[:80]}"
        try:
            data = store.get(layout.quarantine(dataset, partition) + item.name + ".bytes").data
        except ObjectMissing:
            instead = f"; see `headrace replay {dataset} {item.sample_id} --save {folder}`" if item.sample_id != "" else ""
            typer.echo(f"{shown(item.key)}: no bytes were kept ({item.reason}){instead}.")
            continue
        (folder / name).write_bytes(data)
        typer.echo(f"{shown(item.key)} -> {folder / name}")


def _readmit(known: dict[str, str], what: str, key: str, file: Path | None, source: str | None) -> None:
    if key not in known:
        raise NotQuarantined(
            key,
            found=f"no such object in quarantine of {what}",
            expected=", ".join(sorted(known)) or "an object in quarantine",
            remedy="Name one of these.",
        )
    if file is None:
        raise NotQuarantined(key, found="no --file", expected="the mended object", remedy="Give it with --file.")
    overwrite(open_store(source_uri() if source is None else source), known[key], file.read_bytes())
    typer.echo(f"{key}: landed again. Run {what}: only the shard it stands in is written.")
