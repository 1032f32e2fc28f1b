"""What is done and what is left, as values: the state of every DAG on every day, and what follows from it.

Pure: the caller reads runs from Airflow and acts on the answer. A partition's state is that of its newest run, as Airflow's own
backfill sees it; a reprocessed partition has several runs side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where one DAG stands on one day."""

    WAITING = "waiting"  # no run yet
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"  # never started: what it follows failed

    @property
    def is_final(self) -> bool:
        return self in (State.DONE, State.FAILED, State.BLOCKED)


_STATES = {"queued": State.QUEUED, "running": State.RUNNING, "success": State.DONE, "failed": State.FAILED}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One DAG run of a partition. `order` grows with the run's age rank: the newest run has the greatest."""

    dag: str
    key: str
    run: str
    state: State
    order: int


def state_of(airflow_state: str) -> State:
    """Our word for Airflow's. Raises KeyError for one we do not know."""
    return _STATES[airflow_state]


@dataclass(frozen=True, kw_only=True)
class Board:
    """The newest run of each DAG and day.

    Attributes:
        roots: DAGs that a backfill starts.
        followers: DAGs that start when their roots are done.
        keys: the days, `YYYY-MM-DD`, in order.
        newest: the newest run by (DAG, key).
    """

    roots: Sequence[str]
    followers: Sequence[str]
    keys: Sequence[str]
    newest: Mapping[tuple[str, str], Run]

    def state(self, dag: str, key: str) -> State:
        """The state of one cell."""
        run = self.newest.get((dag, key))
        if run is not None:
            return run.state
        roots = [self.newest.get((root, key)) for root in self.roots]
        settled = all(one is not None and one.state.is_final for one in roots)
        if dag in self.followers and settled and any(one is not None and one.state is State.FAILED for one in roots):
            return State.BLOCKED
        return State.WAITING

    def states(self) -> dict[tuple[str, str], State]:
        """Every cell."""
        return {(dag, key): self.state(dag, key) for dag in (*self.roots, *self.followers) for key in self.keys}

    @property
    def is_finished(self) -> bool:
        """Whether every cell is final."""
        return all(state.is_final for state in self.states().values())

    @property
    def is_good(self) -> bool:
        """Whether every cell is done."""
        return all(state is State.DONE for state in self.states().values())


def board(roots: Sequence[str], followers: Sequence[str], keys: Sequence[str], runs: Iterable[Run]) -> Board:
    """The board that these runs make; runs of other DAGs and days are left out."""
    newest: dict[tuple[str, str], Run] = {}
    for run in sorted(runs, key=lambda one: one.order):
        if run.key in keys:
            newest[run.dag, run.key] = run
    return Board(roots=roots, followers=followers, keys=keys, newest=newest)


def window_to_backfill(board: Board, root: str) -> tuple[str, str] | None:
    """First and last day of `root` that have no run or a failed one; None when there are none.

    Airflow skips the days between that are done or under way, so one window serves.
    """
    left = [key for key in board.keys if board.state(root, key) in (State.WAITING, State.FAILED)]
    return (left[0], left[-1]) if len(left) > 0 else None


def runs_to_clear(board: Board) -> list[Run]:
    """Failed runs of followers whose roots are all done: nothing but their own tasks has to run again."""
    return [
        board.newest[dag, key]
        for dag in board.followers
        for key in board.keys
        if board.state(dag, key) is State.FAILED and all(board.state(root, key) is State.DONE for root in board.roots)
    ]


def runs_to_trigger(board: Board) -> list[tuple[str, str]]:
    """Followers without a run although all roots are done: (DAG, key). Their assets' events were used up before they existed."""
    return [
        (dag, key)
        for dag in board.followers
        for key in board.keys
        if board.state(dag, key) is State.WAITING and all(board.state(root, key) is State.DONE for root in board.roots)
    ]
