"""`bin/run`: start the house, land the example, run the days, show what came out, stay up until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final, TextIO

from headrace.errors import HeadraceError
from headrace.spec.load import Declarations, load_declarations
from rich.console import Console

from local import landing, landing_files
from local.board import Board
from local.daily import Dags, find_dags, idle_files, remove_runs, run_days, run_roots
from local.environment import BUCKET, DAGS, DECLARATIONS
from local.house import House
from local.lead_in import LeadIn, lead_in
from local.places import REPOSITORY, Places
from local.progress import Progress, state_table
from local.summary import Summary, summarise
from local.summary_table import days_table, releases_table

_DONE: Final = 0
_FAILED: Final = 1
_REFUSED: Final = 2
_INTERRUPTED: Final = 130


class Stopped(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code: 0 all done, 1 a run failed, 2 refused with a reason, 130 interrupted."""
    options = _parse(arguments)
    console = _console(sys.stdout)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]  # somebody's keys and endpoints must not reach this house
    try:
        return _run(options, console)
    except HeadraceError as error:
        _tell(_console(sys.stderr), f"bin/run: {error}", style="red")
        return _REFUSED
    except Stopped:
        _tell(console, "Stopped before the end; start again to go on from here.")
        return _INTERRUPTED


def _console(file: TextIO) -> Console:
    # A pipe has no width; tables get what they need.
    return Console(file=file, width=None if file.isatty() else 120)


def _tell(console: Console, line: str, style: str = "") -> None:
    """One line as it is: no markup read into it, no colour for its numbers, no break added to it."""
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bin/run", description="Run Headrace's example on this machine with real servers.")
    parser.add_argument("--once", action="store_true", help="stop when the days are done, instead of staying up")
    parser.add_argument("--days", type=int, default=7, help="how many days to run (7)")
    parser.add_argument("--from", dest="first", type=date.fromisoformat, default=landing.FIRST_DAY, help="first day (2013-01-01)")
    parser.add_argument("--fresh", action="store_true", help="delete the house's folder first: its lake, database and keys")
    parser.add_argument("--home", type=Path, help="the house's folder (HEADRACE_HOME, or .headrace in the repository)")
    parser.add_argument("--port", type=_port, help="the port of the Airflow UI (a free one)")
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{port} is no port; choose one between 1 and 65535")
    return port


def _run(options: argparse.Namespace, console: Console) -> int:
    home = options.home or Path(os.environ.get("HEADRACE_HOME", REPOSITORY / ".headrace"))
    asked = landing.asked_days(options.first, options.days)
    dags = Path(os.environ.get("HEADRACE_DAGS", DAGS))
    declarations = Path(os.environ.get("HEADRACE_DECLARATIONS", DECLARATIONS))
    if options.fresh:
        _delete(Places(home=home.absolute()), console)
    house = House(
        home,
        declarations=declarations,
        dags=dags,
        ui_port=options.port,
        say=partial(_tell, console),
    )
    with house:
        started_at = time.time()
        _tell(console, _address(house))
        declared = load_declarations(declarations)
        before = lead_in(declared, asked[0])
        _land(house, declared, sorted({*before.days, *asked}), console)
        idle = idle_files(declared) if dags == DAGS else frozenset()
        chain = find_dags(house.api, dags, house.parsing_since, house.pause, idle=idle)
        for file, text in chain.broken.items():
            _tell(console, f"{file} does not import:\n{text}", style="red")
        final = _run_days(house, chain, before, asked, console)
        summary = _summarise(house, declarations, final)
        _report(house, final, summary, time.time() - started_at, console)
        if not options.once:
            _stay_up(house, console)
    return _DONE if final.is_good and summary.is_sound and len(chain.broken) == 0 else _FAILED


def _run_days(house: House, chain: Dags, before: LeadIn, asked: Sequence[date], console: Console) -> Board:
    """The lead-in, then the days asked for; their final board."""
    with Progress(console) as progress:
        for days in (before.compact, before.snapshot):
            run_roots(house.api, days, show=progress.show, pause=house.pause)
        final = run_days(house.api, chain, [day.isoformat() for day in asked], show=progress.show, pause=house.pause)
    for follower in chain.followers:
        remove_runs(house.api, follower, {day.isoformat() for day in before.days})
    return final


def _delete(places: Places, console: Console) -> None:
    if places.lock.exists():
        with House.sole(places):
            _tell(console, f"Deleting {places.home}.")
            places.delete()


def _land(house: House, declared: Declarations, days: Sequence[date], console: Console) -> None:
    """Land the objects of the datasets that are declared and that we have."""
    names = {dataset.name for dataset in declared.datasets}
    objects: list[landing.SourceObject] = []
    if "flights" in names:
        objects += landing.source_objects(landing.flights_table(landing.flights_file()), days)
    if "pictures" in names:
        objects += landing_files.picture_objects(days)
    if "sources" in names:
        objects += landing_files.source_text_objects(days)
    landed = landing.land(house.s3, BUCKET, "landing", objects)
    _tell(console, f"Landed {landed.written} source objects; {landed.kept} were there.")


def _summarise(house: House, declarations: Path, final: Board) -> Summary:
    """Read the house's lake as its own programs do."""
    os.environ.update({name: value for name, value in house.environment.items() if name.startswith("AWS_")})
    return summarise(house.environment["HEADRACE_LAKE"], declarations, final.keys)


def _report(house: House, final: Board, summary: Summary, seconds: float, console: Console) -> None:
    if not final.is_good:
        console.print(state_table(final))
    console.print(days_table(summary), releases_table(summary))
    _tell(console, f"{len(final.keys)} days in {seconds:.0f} s.")
    _tell(console, f"Lake:        {house.environment['HEADRACE_LAKE']}")
    _tell(console, f"Credentials: {house.places.aws_credentials} (or: source {house.places.environment})")
    _tell(console, _address(house))


def _address(house: House) -> str:
    name, password = house.login
    return f"Airflow:     {house.url}  login {name}, password {password}"


def _stay_up(house: House, console: Console) -> None:
    _tell(console, "Running until Ctrl-C.")
    try:
        while True:
            house.pause(1.0)
    except Stopped:
        _tell(console, "Stopping.")


def _stop(_number: int, _frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping itself.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    raise Stopped
