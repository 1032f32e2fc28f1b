"""What is left to do follows from the runs there are."""

from __future__ import annotations

from local.board import Board, Run, State, board, runs_to_clear, runs_to_trigger, window_to_backfill

KEYS = ["2013-01-01", "2013-01-02", "2013-01-03"]


def made(*runs: tuple[str, int, State]) -> Board:
    """A board of roots a and b and follower c; each run as (DAG, index of its day, state), oldest first."""
    return board(
        ["a", "b"],
        ["c"],
        KEYS,
        [
            Run(dag=dag, key=KEYS[day], run=f"{dag}{order}", state=state, order=order)
            for order, (dag, day, state) in enumerate(runs)
        ],
    )


def test_nothing_ran_yet() -> None:
    """A fresh house backfills the whole window."""
    assert window_to_backfill(made(), "a") == ("2013-01-01", "2013-01-03")


def test_done_and_running_days_are_not_asked_for_again() -> None:
    """Only missing and failed days make the window."""
    there = made(("a", 0, State.DONE), ("a", 1, State.FAILED), ("a", 2, State.RUNNING))

    assert window_to_backfill(there, "a") == ("2013-01-02", "2013-01-02")


def test_a_finished_house_asks_for_nothing() -> None:
    """A second start changes nothing."""
    there = made(*((dag, day, State.DONE) for dag in "abc" for day in range(3)))

    assert (window_to_backfill(there, "a"), window_to_backfill(there, "b")) == (None, None)
    assert (runs_to_clear(there), runs_to_trigger(there)) == ([], [])
    assert there.is_good


def test_the_newest_run_of_a_day_counts() -> None:
    """Reprocessing a partition leaves the old run beside the new one."""
    assert made(("a", 0, State.FAILED), ("a", 0, State.DONE)).state("a", KEYS[0]) is State.DONE
    assert made(("a", 0, State.DONE), ("a", 0, State.FAILED)).state("a", KEYS[0]) is State.FAILED


def test_a_follower_of_a_failed_root_is_blocked_once_its_roots_are_final() -> None:
    """Waiting for it would never end."""
    assert made(("a", 0, State.FAILED), ("b", 0, State.RUNNING)).state("c", KEYS[0]) is State.WAITING
    assert made(("a", 0, State.FAILED), ("b", 0, State.DONE)).state("c", KEYS[0]) is State.BLOCKED


def test_a_failed_follower_of_good_roots_is_cleared_alone() -> None:
    """Its roots' work is not done again."""
    there = made(("a", 0, State.DONE), ("b", 0, State.DONE), ("c", 0, State.FAILED))

    assert [run.run for run in runs_to_clear(there)] == ["c2"]


def test_a_follower_that_never_started_after_good_roots_is_triggered() -> None:
    """A DAG declared after its inputs were made has no event to wait for."""
    assert runs_to_trigger(made(("a", 1, State.DONE), ("b", 1, State.DONE))) == [("c", "2013-01-02")]


def test_a_board_with_a_running_cell_is_not_finished() -> None:
    """The wait goes on until every cell is final."""
    cells = [(dag, day, State.DONE) for dag in "abc" for day in range(3)]

    assert not made(*cells[:-1], ("c", 2, State.RUNNING)).is_finished
    assert made(*cells[:-1], ("c", 2, State.FAILED)).is_finished
    assert not made(*cells[:-1], ("c", 2, State.FAILED)).is_good


def test_days_that_were_not_asked_for_are_left_out() -> None:
    """The schedule's own runs of today do not hold up the example."""
    there = board(["a"], [], KEYS, [Run(dag="a", key="2026-01-01", run="r", state=State.RUNNING, order=0)])

    assert there.newest == {}
