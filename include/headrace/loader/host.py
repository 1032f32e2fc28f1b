"""What the machine says about itself while a rank trains: time stolen by its neighbours, and pressure on its processors.

Linux only; elsewhere nothing is said, which the audit takes for "not known".
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

_EVERY_SECONDS: Final = 5.0
_STAT: Final = Path("/proc/stat")
_PRESSURE: Final = Path("/proc/pressure/cpu")


class HostWatch:
    """Asked after every step, answers every few seconds."""

    def __init__(self) -> None:
        self._asked = time.monotonic()
        self._ticks = _ticks()

    def sample(self) -> dict[str, float]:
        """`steal` (share of processor time since the last answer, 0 to 1) and `pressure` (share of the last 10 s in which some task
        waited for a processor, 0 to 1); empty when it is too early or nothing is known.
        """
        now = time.monotonic()
        if now - self._asked < _EVERY_SECONDS:
            return {}
        before, self._ticks, self._asked = self._ticks, _ticks(), now
        found: dict[str, float] = {}
        if before is not None and self._ticks is not None and self._ticks[1] > before[1]:
            found["steal"] = round((self._ticks[0] - before[0]) / (self._ticks[1] - before[1]), 4)
        pressure = _pressure()
        if pressure is not None:
            found["pressure"] = pressure
        return found


def _ticks() -> tuple[int, int] | None:
    """(stolen, all) processor ticks since boot."""
    try:
        fields = [int(field) for field in _STAT.read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return (fields[7], sum(fields)) if len(fields) == 8 else None


def _pressure() -> float | None:
    try:
        some = _PRESSURE.read_text().splitlines()[0]
        return round(float(some.split("avg10=")[1].split()[0]) / 100, 4)
    except (OSError, ValueError, IndexError):
        return None
