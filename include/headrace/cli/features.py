"""`headrace features`: ask a training set whether it looked ahead, and a training row why it says what it says."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Final

import typer

from headrace.cli import render
from headrace.cli.options import AsJson, Lake, open_lake
from headrace.errors import SettingsError
from headrace.features.audit import as_document, audit_partition, find_row, material
from headrace.features.explain import Explanation, explain_row
from headrace.features.leakage import SAMPLE, LeakageAudit
from headrace.manifests.read import manifest_of, published
from headrace.settings import declarations_folder
from headrace.spec.canonical import plain
from headrace.spec.load import load_declarations
from headrace.spec.training_set import TrainingSet

app = typer.Typer(help="Feature views and training sets: audits and explanations.", no_args_is_help=True)

_LEAKS: Final = 1
_SIGNS: Final = {"used": "=>", "older": "  ", "too late": "x ", "ahead": "x ", "label": "--"}

Name = Annotated[str, typer.Argument(help="Name of the training set.")]


@app.command()
def leakage(
    training_set: Name,
    day: Annotated[str | None, typer.Argument(help="Only this day, YYYY-MM-DD.")] = None,
    *,
    sample: Annotated[int, typer.Option(help="Labels and entities answered again by scan, of each day.")] = SAMPLE,
    from_logs: Annotated[bool, typer.Option(help="Also compute the snapshots' features again from their logs.")] = True,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Audit the days in use for values that were not there yet at label time; exits 1 and names the rows if there are any."""
    store, declared = open_lake(lake), _declared(training_set)
    release = published(store, training_set)
    days = sorted(release.partitions) if day is None else [day]
    audits = {
        one: audit_partition(declared, manifest_of(store, release, one), lake=store, sample=sample, from_logs=from_logs)
        for one in days
    }
    if as_json:
        render.print_json({one: as_document(audit) for one, audit in audits.items()})
    else:
        for one, audit in audits.items():
            _print_audit(one, audit)
        _print_total(audits)
    if any(audit.failed for audit in audits.values()):
        raise typer.Exit(_LEAKS)


@app.command()
def explain(
    training_set: Name,
    row: Annotated[str, typer.Argument(help="Label ID or sample ID, or the row's number in the day (then give --day).")],
    *,
    day: Annotated[str | None, typer.Option(help="The row's day, YYYY-MM-DD; else every day in use is searched.")] = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Show why a training row holds what it holds, and what arrived later and was rightly ignored."""
    store, declared = open_lake(lake), _declared(training_set)
    manifest, found = find_row(training_set, row, None if day is None else date.fromisoformat(day), lake=store)
    explanations = explain_row(declared, found, material(declared, manifest, lake=store))
    if as_json:
        render.print_json(plain([_as_values(one) for one in explanations]))
        return
    keys = ", ".join(f"{name}={found[name]}" for name in declared.labels.entity)
    typer.echo(
        f"{training_set} {manifest.partition}, label {found['label_id']}, {keys}, label={found['label']}, {found['split']}"
    )
    for one in explanations:
        _print_explanation(one)


def _declared(name: str) -> TrainingSet:
    declarations = load_declarations(declarations_folder())
    for one in declarations.training_sets:
        if one.name == name:
            return one
    declarations.check()
    known = ", ".join(one.name for one in declarations.training_sets)
    raise SettingsError("training set", found=repr(name), expected=f"one of {known}", remedy="Correct the name.")


def _print_audit(day: str, audit: LeakageAudit) -> None:
    state = "nothing looks ahead" if not audit.failed else f"{sum(one.wrong for one in audit.failed)} findings"
    typer.echo(f"{day}: {audit.rows} rows, {len(audit.findings)} checks: {state}.")
    for one in audit.failed:
        typer.echo(f"  {one.check} of {one.source}: {one.wrong} of {one.labels} wrong")
        for example in one.examples:
            typer.echo(f"    {example}")


def _print_total(audits: dict[str, LeakageAudit]) -> None:
    """What the shortcuts would have leaked, over all days."""
    totals: dict[tuple[str, str], list[int]] = {}
    for audit in audits.values():
        for one in audit.naive:
            total = totals.setdefault((one.shortcut, one.source), [0, 0, 0])
            for position, number in enumerate((one.labels, one.leaked, one.changed)):
                total[position] += number
    for (shortcut, source), (labels, leaked, changed) in totals.items():
        share = "" if labels == 0 else f" ({100 * leaked / labels:.1f} %)"
        typer.echo(
            f"Joining {source} by {shortcut} would have leaked into {leaked} of {labels} labels{share}; {changed} values differ."
        )


def _print_explanation(one: Explanation) -> None:
    values = ", ".join(f"{name}={value}" for name, value in one.values.items())
    typer.echo(f"\n{one.source}: {values}" + ("" if one.reason is None else f"  (null because: {one.reason})"))
    for entry in one.entries:
        line = f"  {_SIGNS[entry.fate]} {entry.at.strftime('%Y-%m-%d %H:%M:%SZ')}  {entry.what}"
        typer.echo(line if entry.why == "" else f"{line}\n       {entry.fate}: {entry.why}")
    if one.left_out > 0:
        typer.echo(f"     and {one.left_out} more, further away")


def _as_values(one: Explanation) -> dict[str, Any]:
    return {
        "source": one.source,
        "values": dict(one.values),
        "reason": one.reason,
        "timeline": [{"at": entry.at, "fate": entry.fate, "what": entry.what, "why": entry.why} for entry in one.entries],
        "left_out": one.left_out,
    }
