"""`headrace replay`: one sample back to its source, and through its transforms again, with a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, DatasetName, Lake, ReleaseNumber, open_lake
from headrace.lake.open import open_store
from headrace.manifests.history import named_release
from headrace.settings import declarations_folder, source_uri
from headrace.spec.load import load_declarations


def replay(
    dataset: DatasetName,
    sample_id: Annotated[str | None, typer.Argument(help="A sample ID, 32 hex digits.")] = None,
    *,
    source_key: Annotated[str | None, typer.Option("--source-key", help="The object it came from, instead of an ID.")] = None,
    source_row: Annotated[int, typer.Option("--source-row", help="The row of that object.")] = 0,
    member: Annotated[str | None, typer.Option("--member", help="The file in that archive.")] = None,
    part: Annotated[int, typer.Option("--part", help="Which of the many it became.")] = 0,
    shard: Annotated[str | None, typer.Option("--shard", help="The beginning of a shard's SHA-256, instead of an ID.")] = None,
    row: Annotated[int, typer.Option("--row", help="The row of that shard.")] = 0,
    position: Annotated[int | None, typer.Option("--position", help="Its place in the whole release, instead of an ID.")] = None,
    partition: Annotated[str | None, typer.Option("--partition", help="Look only in this partition.")] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Write the source and each step's output into this folder.")] = None,
    with_current_code: Annotated[bool, typer.Option("--with-current-code", help="Also run today's code and compare.")] = False,
    source: Annotated[str | None, typer.Option("--source", help="URI the objects are below; else HEADRACE_SOURCE.")] = None,
    declarations: Annotated[
        Path | None, typer.Option("--declarations", help="Folder of declaration files; else HEADRACE_DECLARATIONS.")
    ] = None,
    release: ReleaseNumber = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Show where a sample came from, what each step made of it, and whether it would come out the same now."""
    from headrace.transforms.replay import replay as again
    from headrace.transforms.replay.find import Wanted
    from headrace.transforms.replay.show import save as write

    chosen = [one for one in (sample_id, source_key, shard, position) if one is not None]
    if len(chosen) != 1:
        raise typer.BadParameter("name one sample: by ID, or --source-key, or --shard and --row, or --position")
    store = open_lake(lake)
    wanted = Wanted(
        sample_id=sample_id,
        source_key=source_key,
        source_row=source_row,
        member=member,
        part=part,
        shard=shard,
        row=row,
        position=position,
        partition=partition,
    )
    found = again.replay(
        named_release(store, dataset, release),
        wanted,
        load_declarations(declarations_folder() if declarations is None else declarations),
        lake=store,
        source=open_store(source_uri() if source is None else source),
        with_current=with_current_code,
    )
    files = [] if save is None else write(found, save)
    facts = _facts(found)
    if as_json:
        render.print_json({**facts, "files": [str(path) for path in files]})
        return
    _show(dataset, facts)
    for path in files:
        typer.echo(f"wrote {path}")


def _facts(found: Any) -> dict[str, Any]:
    from headrace.transforms.replay.show import shown

    origin = found.origin
    return {
        "sample_id": found.found.sample_id,
        "partition": found.found.manifest.partition,
        "shard": None if found.found.where is None else found.found.where.shard,
        "row": None if found.found.where is None else found.found.where.row,
        "source": {
            "key": origin.key,
            "row": origin.row,
            "member": origin.member,
            "state": str(origin.state),
            "etag": {"recorded": origin.recorded_etag, "found": origin.found_etag},
            "sample_digest": {"recorded": origin.recorded_digest, "found": origin.found_digest},
            "sha256": origin.sha256,
        },
        "sample": None if found.sample is None else shown(found.sample),
        "transforms": [_passage(passage) for passage in found.passages],
        "findings": list(found.findings),
        "verdict": str(found.verdict),
    }


def _passage(passage: Any) -> dict[str, Any]:
    """`difference`: None where today's code was not run, empty where it gives the same."""
    from headrace.transforms.replay.show import difference

    return {
        "transform": passage.transform,
        "partition": passage.partition,
        "steps": [_step(output) for output in passage.outputs],
        "trouble": list(passage.trouble),
        "difference": None if passage.current is None else difference(passage),
    }


def _step(output: Any) -> dict[str, Any]:
    from headrace.transforms.replay.show import shown

    rows = [shown(output.rows.slice(number, 1)) for number in range(min(output.rows.num_rows, 20))]
    failed = [f"{one.kind}: {one.message}" for one in output.failed]
    return {"step": output.step, "version": output.version, "rows": output.rows.num_rows, "values": rows, "failed": failed}


def _show(dataset: str, facts: dict[str, Any]) -> None:
    source = facts["source"]
    etag, digest = source["etag"], source["sample_digest"]
    lines = [
        ["partition", facts["partition"]],
        ["shard", "none: it failed" if facts["shard"] is None else f"{facts['shard']} row {facts['row']}"],
        ["source", f"{source['key']} row {source['row']}" + ("" if source["member"] is None else f" of {source['member']}")],
        ["source ETag", _then_and_now(etag["recorded"], etag["found"])],
        ["source sample", _then_and_now(digest["recorded"], digest["found"])],
        ["source bytes", "gone" if source["sha256"] is None else f"SHA-256 {source['sha256']}"],
    ]
    for passage in facts["transforms"]:
        lines += _passage_lines(passage)
    lines += [["found", text] for text in facts["findings"]]
    render.print_table(f"{dataset} {facts['sample_id']}", ["", ""], lines)
    typer.echo(f"verdict: {facts['verdict']}")


def _then_and_now(recorded: str, found: str | None) -> str:
    if found is None:
        return f"{recorded}, now gone"
    return f"{recorded}, still" if found == recorded else f"{recorded}, now {found}"


def _passage_lines(passage: dict[str, Any]) -> list[list[str]]:
    lines, failed = [], False
    for step in passage["steps"]:
        lines.append([f"{passage['transform']}.{step['step']}", "not reached" if failed else _told(step)])
        failed = failed or step["failed"] != []
    lines += [["trouble", text] for text in passage["trouble"]]
    if passage["difference"] is not None:
        lines.append(["current code", "\n".join(passage["difference"]) or "gives the same"])
    return lines


def _told(step: dict[str, Any]) -> str:
    if step["failed"]:
        return "\n".join(f"failed: {text}" for text in step["failed"])
    if step["rows"] == 0:
        return "no row: left out by this step"
    values = "\n".join(", ".join(f"{name} {value}" for name, value in row.items()) for row in step["values"][:3])
    return values + (f"\n... {step['rows'] - 3} more rows" if step["rows"] > 3 else "")
