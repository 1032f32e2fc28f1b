"""When to save: every so many seconds, and at once when the training is told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from headrace.checkpoint.checkpoints import Checkpoints
from headrace.checkpoint.errors import TrainingInterrupted
from headrace.checkpoint.interruption import Interruption
from headrace.checkpoint.saved import Saved
from headrace.spec.errors import check


class Saver:
    """Asked after each step of the training.

    Args:
        checkpoints: where states go.
        every_seconds: from the start of one save to the next one; what a crash can cost.
        about: code version, configuration and data version, stored with every state.
        interruption: what may tell the training to stop.
        clock: seconds, going forward.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        *,
        every_seconds: float,
        about: Mapping[str, Any],
        interruption: Interruption | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check(every_seconds > 0, "Saver", "every_seconds", every_seconds, "above 0")
        self._checkpoints = checkpoints
        self._every_seconds = every_seconds
        self._about = about
        self._interruption = interruption
        self._clock = clock
        self._last = clock()
        self.save_seconds = 0.0

    def after_step(self, step: int, parts: Callable[[], Mapping[str, Any]]) -> Saved | None:
        """Save if it is time; `parts` is called only then. Returns what was saved.

        Raises:
            TrainingInterrupted: after saving, when the training was told to stop. Let it end the loop.
        """
        stop = self._interruption is not None and self._interruption.requested
        started = self._clock()
        if not stop and started - self._last < self._every_seconds:
            return None
        saved = self._checkpoints.save(step=step, parts=parts(), about=self._about)
        self._last, self.save_seconds = started, self._clock() - started
        if stop and self._interruption is not None:
            left = self._interruption.seconds_left
            raise TrainingInterrupted(
                f"training at step {step}",
                found=f"a request to stop, and saved checkpoint {saved.number} in {self.save_seconds:.1f} s with {left:.1f} s left",
                expected="the training's own end",
                remedy="Start again: it goes on from this checkpoint.",
            )
        return saved
