"""Being told to stop: SIGTERM, or a notice that the machine will be taken away.

The signal only leaves a note. Saving inside a signal handler would save a state half-way through a step; the training loop looks at
the note after each step (`Saver.after_step`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from headrace.spec.errors import check


class Interruption:
    """Listens while entered.

    Args:
        grace_seconds: how long a process lives after the signal.
        signals: which ones count. Handlers need the main thread and are put back on leaving.
        notice: asked every few seconds in a thread; answers how many seconds are left, or None. What it raises counts as no notice.
        poll_seconds: how often it is asked.
        clock: seconds, going forward.
    """

    def __init__(
        self,
        *,
        grace_seconds: float = 30.0,
        signals: Sequence[signal.Signals] = (signal.SIGTERM,),
        notice: Callable[[], float | None] | None = None,
        poll_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check(grace_seconds > 0, "Interruption", "grace_seconds", grace_seconds, "above 0")
        self._grace_seconds = grace_seconds
        self._signals = tuple(signals)
        self._notice = notice
        self._poll_seconds = poll_seconds
        self._clock = clock
        self._deadline: float | None = None
        self._left = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for one in self._signals:
            self._before[one] = signal.signal(one, self._signalled)
        if self._notice is not None:
            threading.Thread(target=self._poll, args=(self._notice,), name="headrace-notice", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._left.set()
        for one, handler in self._before.items():
            signal.signal(one, handler)

    @property
    def requested(self) -> bool:
        return self._deadline is not None

    @property
    def seconds_left(self) -> float | None:
        """Until the process ends; below 0 when it should have; None when nobody asked."""
        return None if self._deadline is None else self._deadline - self._clock()

    def request(self, seconds: float) -> None:
        """Stop within so many seconds. The earliest deadline counts."""
        deadline = self._clock() + seconds
        self._deadline = deadline if self._deadline is None else min(deadline, self._deadline)

    def _signalled(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a handler
        self.request(self._grace_seconds)

    def _poll(self, notice: Callable[[], float | None]) -> None:
        while not self._left.wait(self._poll_seconds):
            try:
                seconds = notice()
            except Exception:  # noqa: BLE001, S112 - a metadata service that does not answer is no notice
                continue
            if seconds is not None:
                self.request(seconds)
                return
