"""`headrace audit leakage`: ask a training set whether it looked ahead, and what the shortcuts would have leaked."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

import typer

from headrace.cli import render
from headrace.cli.declared import TrainingSetName, declared_training_set
from headrace.cli.options import AsJson, Lake, open_lake, written_day
from headrace.features.audit import as_document, audit_partition
from headrace.features.leakage import SAMPLE, LeakageAudit
from headrace.manifests.read import manifest_of, published

_LEAKS: Final = 1


def leakage(
    training_set: TrainingSetName,
    day: Annotated[date | None, typer.Argument(parser=written_day, help="Only this day, YYYY-MM-DD; else all in use.")] = None,
    *,
    sample: Annotated[int, typer.Option(min=1, help="Labels and entities answered again by scan, of each day.")] = SAMPLE,
    from_logs: Annotated[bool, typer.Option(help="Also compute the snapshots' features again from their logs.")] = True,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Audit the days in use for values that were not there yet at label time; exits 1 and names the rows if there are any."""
    store, declared = open_lake(lake), declared_training_set(training_set)
    release = published(store, training_set)
    audits: dict[str, LeakageAudit] = {}
    for one in sorted(release.partitions) if day is None else [day.isoformat()]:
        manifest = manifest_of(store, release, one)
        audits[one] = audit_partition(declared, manifest, lake=store, sample=sample, from_logs=from_logs)
        if not as_json:
            _print_audit(one, audits[one])
    if as_json:
        render.print_json({one: as_document(audit) for one, audit in audits.items()})
    else:
        _print_total(audits)
    if any(audit.failed for audit in audits.values()):
        raise typer.Exit(_LEAKS)


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
        told = f"{leaked} of {labels} labels{share}, {changed} of them with other values"
        typer.echo(f"Joining {source} by {shortcut} would have leaked into {told}.")
