"""`headrace explain`: ask a training row why it says what it says."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Final

import pyarrow.compute as pc
import typer

from headrace.cli import render
from headrace.cli.declared import TrainingSetName, declared_training_set
from headrace.cli.options import AsJson, Lake, open_lake, written_day
from headrace.features.audit import find_row
from headrace.features.explain import Explanation, explain_row
from headrace.features.material import labels_of, material
from headrace.spec.canonical import plain

_SIGNS: Final = {"used": "=>", "older": "  ", "too late": "x ", "ahead": "x ", "label": "--"}


def explain(
    training_set: TrainingSetName,
    row: Annotated[str, typer.Argument(help="Label ID or sample ID, or the row's number in the day (then give --day).")],
    *,
    day: Annotated[
        date | None,
        typer.Option(parser=written_day, metavar="YYYY-MM-DD", help="The row's day; else every day in use is searched."),
    ] = None,
    lake: Lake = None,
    as_json: AsJson = False,
) -> None:
    """Show why a training row holds what it holds, and what arrived later and was rightly ignored."""
    store, declared = open_lake(lake), declared_training_set(training_set)
    manifest, found = find_row(training_set, row, day, lake=store)
    labels = labels_of(declared, manifest, lake=store)
    asked = labels.filter(pc.field("label_id") == found["label_id"])
    explanations = explain_row(declared, found, material(declared, manifest, asked, lake=store))
    if as_json:
        render.print_json(plain([_as_values(one) for one in explanations]))
        return
    keys = ", ".join(f"{name}={found[name]}" for name in declared.labels.entity)
    typer.echo(
        f"{training_set} {manifest.partition}, label {found['label_id']}, {keys}, label={found['label']}, {found['split']}"
    )
    for one in explanations:
        _print_explanation(one)


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
