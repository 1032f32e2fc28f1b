"""`bin/run`: start the house, land the example, run the days, show what came out, stay up until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Final

from headrace.errors import HeadraceError
from rich.console import Console

from local import landing
from local.board import Board
from local.daily import find_dags, run_days
from local.environment import BUCKET, layout_from
from local.house import House
from local.places import REPOSITORY, Places
from local.progress import Progress, state_table

_DONE: Final = 0
_FAILED: Final = 1
_REFUSED: Final = 2
_INTERRUPTED: Final = 130


class Stopped(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code: 0 all done, 1 a run failed, 2 refused with a reason, 130 interrupted."""
    options = _parse(arguments)
    console = Console(soft_wrap=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]  # somebody's keys and endpoints must not reach this house
    try:
        return _run(options, console)
    except HeadraceError as error:
        Console(stderr=True, soft_wrap=True).print(f"bin/run: {error}", style="red", highlight=False, markup=False)
        return _REFUSED
    except Stopped:
        console.print("Stopped before the end; start again to go on from here.")
        return _INTERRUPTED


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bin/run", description="Run Headrace's example on this machine with real servers.")
    parser.add_argument("--once", action="store_true", help="stop when the days are done, instead of staying up")
    parser.add_argument("--days", type=int, default=7, help="how many days to run (7)")
    parser.add_argument("--from", dest="first", type=date.fromisoformat, default=landing.FIRST_DAY, help="first day (2013-01-01)")
    parser.add_argument("--fresh", action="store_true", help="delete the house's folder first: its lake, database and keys")
    parser.add_argument("--home", type=Path, help="the house's folder (HEADRACE_HOME, or .headrace in the repository)")
    parser.add_argument("--port", type=int, help="the port of the Airflow UI (a free one)")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace, console: Console) -> int:
    home = options.home or Path(os.environ.get("HEADRACE_HOME", REPOSITORY / ".headrace"))
    days = landing.needed_days(landing.asked_days(options.first, options.days))
    layout = layout_from(os.environ)
    if options.fresh:
        _delete(Places(home=home.absolute()), console)
    house = House(home, layout=layout, ui_port=options.port, say=lambda line: console.print(line, highlight=False, markup=False))
    with house:
        started_at = time.time()
        console.print(f"Airflow: {house.url}  login {house.login[0]}, password {house.login[1]}", highlight=False)
        _land(house, days, console)
        dags = find_dags(house.api, layout.dags, house.parsing_since, house.pause)
        with Progress(console) as progress:
            final = run_days(house.api, dags, [day.isoformat() for day in days], show=progress.show, pause=house.pause)
        _report(house, final, time.time() - started_at, console)
        if not options.once:
            _stay_up(house, console)
    return _DONE if final.is_good else _FAILED


def _delete(places: Places, console: Console) -> None:
    if places.home.exists():
        places.create()
        with House.sole(places):
            console.print(f"Deleting {places.home}.", highlight=False)
            places.delete()


def _land(house: House, days: Sequence[date], console: Console) -> None:
    objects = landing.source_objects(landing.flights_table(landing.flights_file()), days)
    landed = landing.land(house.s3, BUCKET, "landing", objects)
    console.print(f"Landed {landed.written} source objects; {landed.kept} were there.", highlight=False)


def _report(house: House, final: Board, seconds: float, console: Console) -> None:
    console.print(state_table(final))
    console.print(f"{len(final.keys)} days in {seconds:.0f} s.", highlight=False)
    console.print(f"Lake:        {house.environment['HEADRACE_LAKE']}", highlight=False)
    console.print(f"Credentials: {house.places.aws_credentials} (or: source {house.places.environment})", highlight=False)
    console.print(f"Airflow:     {house.url}  login {house.login[0]}, password {house.login[1]}", highlight=False)


def _stay_up(house: House, console: Console) -> None:
    console.print("Running until Ctrl-C.")
    try:
        while True:
            house.pause(1.0)
    except Stopped:
        console.print("Stopping.")


def _stop(_number: int, _frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping itself.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    raise Stopped
