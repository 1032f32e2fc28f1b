"""`headrace` and `python -m headrace.cli`: run one command, then leave at once.

Arrow's and obstore's own threads may still be ending when a command is done, and an interpreter that is torn down around them can abort
("terminate called without an active exception") instead of giving the exit code. Commands close what they open, so nothing is left to do.
"""

from __future__ import annotations

import os
import sys

from headrace.cli.main import app


def run() -> None:
    """Run the command of this process's arguments; does not return."""
    os._exit(_code())


def _code() -> int:
    try:
        app()
    except SystemExit as end:  # by which every command ends, also well
        if end.code is not None and not isinstance(end.code, int):
            raise
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BrokenPipeError:  # `headrace ls | head`
            return 1
        return 0 if end.code is None else end.code
    return 0


if __name__ == "__main__":
    run()
