"""`headrace audit leakage TRAINING_SET`, `headrace audit runs A B`, `headrace audit workers RUN`: judgements, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import leakage

if TYPE_CHECKING:
    from headrace.loader.audit.runs import RunsAudit
    from headrace.loader.audit.workers import WorkersAudit

app = typer.Typer(
    no_args_is_help=True, help="Judge: does a training set look ahead, did two runs see the same data, and who is slow?"
)
app.command("leakage")(leakage.leakage)

Folder = Annotated[
    Path, typer.Argument(help="A run's record: the folder given to the loader as `record`.", exists=True, file_okay=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]


@app.command()
def runs(first: Folder, second: Folder, *, as_json: AsJson = False) -> None:
    """Whether two runs saw the same global batches, where they first part, and what kind of fault that is.

    Exit status 0: the same data; 1: not, or a record that cannot be read.
    """
    from headrace.loader.audit.runs import audit_runs

    audit = audit_runs(first, second)
    typer.echo(json.dumps(audit.plain(), indent=1) if as_json else _runs_text(audit))
    raise typer.Exit(0 if audit.same_data else 1)


@app.command()
def workers(run: Folder, *, as_json: AsJson = False) -> None:
    """Which rank is slow, since when, and why: waiting for input, computing, or its host.

    Exit status 0: none; 1: at least one, or a record that cannot be read.
    """
    from dataclasses import asdict

    from headrace.loader.audit.workers import audit_workers

    audit = audit_workers(run)
    typer.echo(json.dumps(asdict(audit), indent=1) if as_json else _workers_text(audit))
    raise typer.Exit(1 if audit.slow else 0)


def _runs_text(audit: RunsAudit) -> str:
    return "\n".join([f"Verdict: {audit.verdict}.", "", *audit.facts])


def _workers_text(audit: WorkersAudit) -> str:
    lines = [
        "Since the run was last started, median of its steps:",
        "",
        "rank  host                      steps   step ms   wait ms   work ms",
    ]
    lines += [
        f"{one.rank:>4}  {one.host:<24}{one.steps:>7}{_ms(one.step):>10}{_ms(one.wait):>10}{_ms(one.work):>10}"
        for one in audit.ranks
    ]
    for one in audit.slow:
        lines += [
            "",
            f"Rank {one.rank} on {one.host} is slow since epoch {one.epoch}, position {one.position}: {_ms(one.step)} ms a step where the "
            f"others take {_ms(one.others_step)} ms; {_ms(one.wait)} ms of it waits for input (others {_ms(one.others_wait)} ms).",
            f"Cause: {one.cause}. {one.advice}",
        ]
    return "\n".join(lines if audit.slow else [*lines, "", "No rank is slow."])


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"
