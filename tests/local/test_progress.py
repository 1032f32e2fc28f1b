"""A pipe gets one line a change; a terminal a table with words, not colours alone."""

from __future__ import annotations

import io

from rich.console import Console

from local.board import Run, State, board
from local.progress import Progress, changes

KEY = "2013-01-01"


def test_only_changes_are_told() -> None:
    """What waits and waited before is no news."""
    before = {("a", KEY): State.RUNNING, ("b", KEY): State.DONE}
    after = {("a", KEY): State.DONE, ("b", KEY): State.DONE, ("c", KEY): State.WAITING}

    assert changes(before, after) == ["2013-01-01 a: done"]


def test_a_pipe_gets_plain_lines() -> None:
    """No control characters reach a log file."""
    out = io.StringIO()
    there = board(["a"], [], [KEY], [Run(dag="a", key=KEY, run="r", state=State.FAILED, order=0)])

    with Progress(Console(file=out, force_terminal=False)) as progress:
        progress.show(there)
        progress.show(there)

    assert out.getvalue() == "2013-01-01 a: failed\n"
