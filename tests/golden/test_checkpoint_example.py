"""The seeds' checkpoint example: every 10 minutes, pre-empted at minute 37, at most 7 minutes of work redone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from headrace.checkpoint.checkpoints import Checkpoints
from headrace.checkpoint.errors import TrainingInterrupted
from headrace.checkpoint.interruption import Interruption
from headrace.checkpoint.saver import Saver
from headrace.lake.local import LocalStore

MINUTE = 60.0


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def state(step: int) -> dict[str, Any]:
    return {"weights": bytes([step]), "loader": {"position": step}}


def train(store: LocalStore, clock: Clock, *, until_minute: float, notice_at: float | None = None) -> tuple[int, int]:
    """A training of one step a minute; returns the step it started from and the last one it finished."""
    checkpoints = Checkpoints(store, "fraud")
    restored = checkpoints.restore()
    first = step = 0 if restored is None else restored.part("loader")["position"]
    interruption = Interruption(grace_seconds=30, signals=(), clock=clock)
    saver = Saver(checkpoints, every_seconds=10 * MINUTE, about={"code": "abc"}, interruption=interruption, clock=clock)
    while step < until_minute:
        clock.now += MINUTE
        step += 1
        if step == notice_at:
            interruption.request(120)
        saver.after_step(step, partial(state, step))
    return first, step


def test_preempted_at_minute_37_the_restart_redoes_seven_minutes(tmp_path: Path) -> None:
    """Killed without a word: the state of minute 30 is the last good one."""
    store, clock = LocalStore(tmp_path), Clock()
    assert train(store, clock, until_minute=37) == (0, 37)

    started_from, _ = train(store, clock, until_minute=60)

    assert started_from == 30
    assert 37 - started_from == 7


def test_with_a_notice_nothing_is_redone(tmp_path: Path) -> None:
    """A spot notice at minute 37 saves at once and ends the training."""
    store, clock = LocalStore(tmp_path), Clock()
    with pytest.raises(TrainingInterrupted, match="training at step 37"):
        train(store, clock, until_minute=60, notice_at=37)

    assert train(store, clock, until_minute=38)[0] == 37


@pytest.mark.parametrize("minute", range(1, 41))
def test_stopped_at_any_minute_at_most_ten_are_redone(tmp_path: Path, minute: int) -> None:
    """What a crash can cost is the interval, never the whole job."""
    store, clock = LocalStore(tmp_path), Clock()
    train(store, clock, until_minute=minute)

    assert train(store, clock, until_minute=minute)[0] == minute - minute % 10
