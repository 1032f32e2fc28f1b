"""The live table of DAGs and days for a terminal, and one line a change for a pipe."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from local.board import Board, State

COLOURS: Final = {
    State.WAITING: "dim",
    State.QUEUED: "yellow",
    State.RUNNING: "cyan",
    State.DONE: "green",
    State.FAILED: "bold red",
    State.BLOCKED: "magenta",
}


class Progress:
    """Shows boards as they come. Colour is never the only sign: every state is also its word."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._shown: dict[tuple[str, str], State] = {}

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, board: Board) -> None:
        """Show this board."""
        if self._live is not None:
            self._live.update(state_table(board))
            return
        for line in changes(self._shown, board.states()):
            self._console.print(line, highlight=False, markup=False)
        self._shown = board.states()


def changes(before: dict[tuple[str, str], State], after: dict[tuple[str, str], State]) -> list[str]:
    """One line for each cell that is no longer what it was; cells that were never shown and still wait are left out."""
    return [
        f"{key} {dag}: {state}"
        for (dag, key), state in sorted(after.items(), key=lambda item: (item[0][1], item[0][0]))
        if before.get((dag, key), State.WAITING) is not state
    ]


def state_table(board: Board) -> Table:
    """A row a day, a column a DAG."""
    table = Table("Day", *board.roots, *board.followers)
    for key in board.keys:
        states = [board.state(dag, key) for dag in (*board.roots, *board.followers)]
        table.add_row(key, *(f"[{COLOURS[state]}]{state}[/]" for state in states))
    return table
