"""`headrace show`: one release, one partition, or one sample."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, ReleaseNumber, open_lake
from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes
from headrace.manifests.errors import NotPublished
from headrace.manifests.history import named_release
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import manifest_of
from headrace.manifests.release import Release

_SHOWN: Final = 20


def show(
    dataset: DatasetName,
    partition: Annotated[str | None, typer.Argument(help="A partition; without one, the release.")] = None,
    *,
    sample: Annotated[
        str | None, typer.Option("--sample", help="A sample ID: where it lies, where it came from, its values.")
    ] = None,
    release: ReleaseNumber = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Show a release, a partition of it, or one sample."""
    store = open_lake(lake)
    found = named_release(store, dataset, release)
    if sample is not None:
        facts = _sample(store, found, partition, sample)
    elif partition is not None:
        facts = _partition(store, manifest_of(store, found, partition))
    else:
        facts = _release(store, found)
    if as_json:
        render.print_json(facts)
    else:
        render.print_table(" ".join(filter(None, [dataset, partition, sample])), ["", ""], list(_lines(facts)))


def _release(store: Store, release: Release) -> dict[str, Any]:
    key = layout.release(release.dataset, release.number)
    run = from_bytes(f"{store.uri}/{key}", store.get(key).data).run
    return {
        "release": release.number,
        "digest": release.digest,
        "parent": release.parent,
        "partitions": len(release.partitions),
        "first": min(release.partitions, default=None),
        "last": max(release.partitions, default=None),
        "notes": [asdict(note) for note in release.notes],
        "run": {name: value for name, value in run.items() if name not in {"notes", "number", "parent"}},
    }


def _partition(store: Store, manifest: Manifest) -> dict[str, Any]:
    key = layout.manifest(manifest.dataset, manifest.partition, manifest.digest)
    document = from_bytes(f"{store.uri}/{key}", store.get(key).data)
    return {"manifest": manifest.digest, **document.content, "run": document.run}


def _sample(store: Store, release: Release, partition: str | None, sample_id: str) -> dict[str, Any]:
    from headrace.shards.find import find_by_id
    from headrace.shards.read import read_sample
    from headrace.transforms.replay.show import shown

    found = find_by_id(store, release, sample_id, partition)
    if found is None:
        raise NotPublished(
            f"sample {sample_id}",
            found=f"no such sample in {release.dataset} release {release.number}",
            expected="a sample ID of 32 hex digits from this release",
            remedy="Check the ID; an older release may hold it (--release).",
        )
    if found.where is None:
        return _left_out(found.manifest, sample_id)
    row = read_sample(store, found.manifest, found.where)
    in_words = shown(row)
    values = {name: value if _is_plain(value) else in_words[name] for name, value in row.to_pylist()[0].items()}
    return {"partition": found.manifest.partition, **asdict(found.where), "values": values}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _left_out(manifest: Manifest, sample_id: str) -> dict[str, Any]:
    """A sample that failed, or an object that was refused: in no shard."""
    (item,) = (one for one in manifest.facts["quarantined"] if one["record"] == sample_id)
    return {
        "partition": manifest.partition,
        "sample_id": sample_id,
        "shard": None,
        "source_key": item["key"],
        "source_etag": item["etag"],
        "left out": item["reason"],
        "see": f"headrace quarantine {manifest.dataset} {manifest.partition}",
    }


def _lines(facts: dict[str, Any], prefix: str = "") -> Any:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _lines(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            shown = [_entry(item) for item in value[:_SHOWN]] or ["none"]
            more = [f"... {len(value) - _SHOWN:,} more"] if len(value) > _SHOWN else []
            yield [f"{prefix}{name}", "\n".join(shown + more)]
        else:
            yield [f"{prefix}{name}", "none" if value is None else str(value)]


def _entry(item: Any) -> str:
    """One of a list on one line: a column as its name and type, anything else with each value's name before it."""
    if not isinstance(item, dict):
        return str(item)
    if item.keys() == {"name", "type"}:
        return f"{item['name']} {item['type']}"
    return ", ".join(f"{name} {value}" for name, value in item.items())
