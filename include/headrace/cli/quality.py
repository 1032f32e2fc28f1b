"""`headrace quality ...`: what the gate said, what is held, what is wrong, and the reference that days are compared with."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headrace.errors import FinalError
from headrace.settings import declarations_folder, lake_uri
from headrace.spec.canonical import instant_text
from headrace.spec.load import load_declarations
from headrace.spec.training_set import TrainingSet

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.quality.incident_store import Stream
    from headrace.quality.verdict import CheckResult, Verdict

app = typer.Typer(help="What the gate said, what is held, what is wrong.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The training set's name.")]
Lake = Annotated[str | None, typer.Option(help="The lake's URI; HEADRACE_LAKE when left out.")]
Live = Annotated[bool, typer.Option("--live", help="The monitor's verdict on live data instead of the gate's.")]

Kept = Annotated[
    str, typer.Option("--stream", help="Whose incidents: the `gate`'s, the `monitor`'s, or those of the `lake` (damage).")
]

_COLOURS: Final = {"ok": "green", "insufficient": "yellow", "warning": "yellow", "failed": "red", "not run": "red"}


class NotDeclared(FinalError, LookupError):
    """No declaration has that name."""


@app.command()
def show(
    training_set: Name,
    partition: Annotated[str | None, typer.Argument(help="The day; the last judged one when left out.")] = None,
    *,
    live: Live = False,
    lake: Lake = None,
) -> None:
    """One day's verdict: the line, every check, where the page lies. Exit code 1 when it blocks."""
    from headrace.quality.lookup import newest_verdict

    store = _open(lake)
    found = newest_verdict(store, training_set, partition, monitor=live)
    verdict, console = found.stored.verdict, _console()
    console.print(f"{training_set} {found.partition}", highlight=False)
    console.print(verdict.headline, style=_COLOURS[verdict.state], markup=False, highlight=False)
    console.print(_checks(verdict))
    for item in verdict.checks:
        if item.reason and item.state != "ok":
            console.print(f"{item.id}: {item.reason} {item.next_step}", markup=False, highlight=False)
    for compared in found.stored.compared_with[:1]:
        days = len(found.stored.compared_with)
        console.print(f"Compared with {days} released days like it, from {compared['partition']} on.", highlight=False)
    console.print(f"Page: {store.uri}/{found.report}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(0 if verdict.passes else 1)


@app.command()
def held(training_set: Name, lake: Lake = None) -> None:
    """Candidates the gate has held, and what became of them."""
    from headrace.quality.held import held_candidates

    rows = [
        (item.partition, item.outcome, item.held_at[:19], item.headline) for item in held_candidates(_open(lake), training_set)
    ]
    _table(("Day", "Outcome", "Held at (UTC)", "Why"), rows, empty="Nothing is held.")


@app.command()
def incidents(training_set: Name, *, live: Live = False, stream: Kept = "gate", lake: Lake = None) -> None:
    """What is wrong now and was lately, newest first."""
    from headrace.quality.incident_store import read_incidents

    state = read_incidents(_open(lake), training_set, _stream(stream, live=live))
    rows = [
        (
            f"#{item.number}",
            item.stage,
            item.check,
            item.first,
            item.last,
            str(item.count),
            item.acknowledged_by or "",
            item.reason,
        )
        for item in reversed(state.incidents)
    ]
    _table(("No.", "Stage", "Check", "First", "Last", "Seen", "With", "Why"), rows, empty="Nothing is or was wrong.")


@app.command()
def acknowledge(
    training_set: Name,
    number: Annotated[int, typer.Argument(help="The incident's number.")],
    *,
    who: Annotated[str, typer.Option(help="Who takes it on.")] = getpass.getuser(),
    remark: Annotated[str | None, typer.Option(help="What you found or do.")] = None,
    live: Live = False,
    stream: Kept = "gate",
    lake: Lake = None,
) -> None:
    """Say who takes an open incident on; messages about it name that person."""
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.incidents import Incidents
    from headrace.quality.incidents import acknowledge as step

    at = instant_text(datetime.now(UTC))

    def taken(state: Incidents) -> Incidents:
        return step(state, number, who=who, at=at, remark=remark)

    try:
        change_incidents(_open(lake), training_set, _stream(stream, live=live), taken)
    except KeyError as error:
        raise NotDeclared(
            f"{training_set} incident #{number}",
            found="no open incident of that number",
            expected="one that `headrace quality incidents` lists",
            remedy="Choose another number.",
        ) from error
    _console().print(f"#{number} is with {who}.", highlight=False)


@app.command()
def reference(
    training_set: Name,
    first: Annotated[datetime, typer.Option("--from", formats=["%Y-%m-%d"], help="First day known to be good.")],
    last: Annotated[datetime, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day, inclusive.")],
    out: Annotated[Path | None, typer.Option(help="Where to write it; the policy's own file when left out.")] = None,
    lake: Lake = None,
) -> None:
    """Freeze the profile of good days as the reference that later days are compared with. Put the file under version control."""
    from headrace.quality.observe import reference_path
    from headrace.quality.reference import reference_bytes
    from headrace.quality.reference_build import reference_from_days

    declared = _declared(training_set)
    days = _days(first.date(), last.date())
    target = out if out is not None else reference_path(declared)
    made = reference_from_days(declared, days, lake=_open(lake))
    target.write_bytes(reference_bytes(made))
    _console().print(f"{made.about}: written to {target}", markup=False, highlight=False, soft_wrap=True)


def _stream(name: str, *, live: bool) -> Stream:
    """Raises NotDeclared for a stream that there is not."""
    from headrace.quality.incident_store import STREAMS

    wanted = "monitor" if live else name
    for one in STREAMS:
        if one == wanted:
            return one
    raise NotDeclared("--stream", found=repr(name), expected=f"one of {', '.join(STREAMS)}", remedy="Choose one of them.")


def _days(first: date, last: date) -> list[date]:
    if last < first:
        raise typer.BadParameter(f"{last} is before {first}", param_hint="--to")
    return [first + timedelta(days=step) for step in range((last - first).days + 1)]


def _declared(name: str) -> TrainingSet:
    found = load_declarations(declarations_folder()).training_sets
    for item in found:
        if item.name == name:
            return item
    raise NotDeclared(
        "training set",
        found=repr(name),
        expected=f"one of {', '.join(item.name for item in found)}",
        remedy="Correct the name, or HEADRACE_DECLARATIONS.",
    )


def _open(lake: str | None) -> Store:
    from headrace.lake.open import open_store

    return open_store(lake_uri() if lake is None else lake)


def _console() -> Any:
    from rich.console import Console

    return Console()


def _checks(verdict: Verdict) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table("State", "Check", "Severity", "Observed", "Expected")
    for item in sorted(verdict.checks, key=_badness):
        table.add_row(
            Text(item.state, style=_COLOURS[item.state]), Text(item.id), item.severity, Text(item.observed), Text(item.expected)
        )
    return table


def _badness(item: CheckResult) -> tuple[bool, bool]:
    return item.state == "ok", item.severity != "critical"


def _table(head: tuple[str, ...], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    from rich.table import Table
    from rich.text import Text

    if not rows:
        _console().print(empty)
        return
    table = Table(*head)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _console().print(table)
