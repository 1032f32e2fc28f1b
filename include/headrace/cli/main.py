"""`headrace`: the lake from a terminal.

Tables for people, `--json` for machines. What goes wrong is one sentence on standard error: what was found, what was expected, what to do.
Exit status: 0 done, 1 something is wrong, 2 the command line is wrong, 75 try again later.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Final

import typer

from headrace.cli import (
    collect,
    compare,
    explain,
    exporting,
    history,
    indexing,
    listing,
    plan,
    quality,
    quarantine,
    rebuild,
    replay,
    rollup,
    showing,
    tagging,
    verify,
)
from headrace.errors import HeadraceError, RetryableError

TRY_AGAIN: Final = 75
MOUNTED: Final = ("audit", "quality")
"""Command groups of other rooms: `headrace.cli.<name>` with a typer app named `app`. One that is not there is left out."""

commands = typer.Typer(
    name="headrace",
    help="Look at, check and mend a lake of training data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
commands.command("ls")(listing.ls)
commands.command("show")(showing.show)
commands.command("verify")(verify.verify)
commands.command("diff")(compare.diff)
commands.command("history")(history.history)
commands.command("rollback")(history.rollback)
commands.command("tag")(tagging.tag)
commands.command("quarantine")(quarantine.quarantine)
commands.command("rollup")(rollup.rollup)
commands.command("index")(indexing.index)
commands.command("rebuild")(rebuild.rebuild)
commands.command("gc")(collect.gc)
commands.command("export")(exporting.export)
commands.command("plan")(plan.plan)
commands.command("replay")(replay.replay)
commands.command("reference")(quality.reference)
commands.command("explain")(explain.explain)

for _name in MOUNTED:
    if importlib.util.find_spec(f"headrace.cli.{_name}") is not None:
        commands.add_typer(importlib.import_module(f"headrace.cli.{_name}").app, name=_name)


def app() -> None:
    """The console script."""
    try:
        commands()
    except HeadraceError as error:
        typer.echo(f"headrace: {error}", err=True)
        sys.exit(TRY_AGAIN if isinstance(error, RetryableError) else 1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has seen enough
        sys.exit(1)
    except OSError as error:  # of a local file or folder named on the command line; a store's trouble is a HeadraceError
        typer.echo(f"headrace: {error.filename or 'local file'}: {error.strerror or error}.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    app()
