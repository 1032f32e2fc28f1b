"""Told to stop, a training saves and ends, in time."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from headrace.checkpoint.checkpoints import Checkpoints
from headrace.checkpoint.errors import TrainingInterrupted
from headrace.checkpoint.interruption import Interruption
from headrace.checkpoint.saver import Saver
from headrace.lake.local import LocalStore


def test_sigterm_saves_after_the_step_under_way_and_ends(tmp_path: Path) -> None:
    """A real signal in the middle of step 3: the state of step 3 is saved within the deadline, the old handler is back."""
    checkpoints = Checkpoints(LocalStore(tmp_path), "run")
    before = signal.getsignal(signal.SIGTERM)

    def train() -> None:
        with Interruption(grace_seconds=20) as interruption:
            saver = Saver(checkpoints, every_seconds=3600, about={}, interruption=interruption)
            for step in range(1, 10):
                if step == 3:
                    os.kill(os.getpid(), signal.SIGTERM)
                    assert interruption.requested
                saver.after_step(step, lambda step=step: {"step": step})  # type: ignore[misc] # bound at once

    with pytest.raises(TrainingInterrupted, match=r"training at step 3: found a request to stop, and saved checkpoint 1 in"):
        train()

    restored = checkpoints.restore()
    assert restored is not None
    assert restored.part("step") == 3
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_notice_is_polled_for_and_failures_are_no_notice() -> None:
    """The metadata service fails, knows nothing, then says two minutes."""
    answers = iter([OSError("no route"), None, 120.0])
    asked = threading.Event()

    def notice() -> float | None:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            asked.set()
        return answer

    with Interruption(signals=(), notice=notice, poll_seconds=0.01) as interruption:
        assert asked.wait(10)
        deadline = time.monotonic() + 10
        while not interruption.requested and time.monotonic() < deadline:
            time.sleep(0.01)
        assert interruption.seconds_left is not None
        assert 100 < interruption.seconds_left <= 120


def test_the_earliest_deadline_counts() -> None:
    """A notice of two minutes, then a SIGTERM of thirty seconds, then a longer one."""
    interruption = Interruption(clock=lambda: 0.0)

    assert interruption.seconds_left is None
    for seconds in (120, 30, 60):
        interruption.request(seconds)
    assert interruption.seconds_left == 30
