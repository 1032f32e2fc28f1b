"""When a day ends: the zone, the hour, and how long late events are waited for.

`24:00` ends day D at the first instant of the next local date. An earlier hour is a business day (`17:00`: what happens
after five belongs to tomorrow), a later one a night owl's (`28:00`: until four in the morning). The instants themselves
are computed in `headrace.features.cutoff`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from headrace.spec.errors import check
from headrace.spec.zones import check_zone

_CUT: Final = re.compile(r"([0-3][0-9]):([0-5][0-9])")
_EARLIEST_CUT: Final = timedelta(minutes=1)
_LATEST_CUT: Final = timedelta(hours=36)


@dataclass(frozen=True, kw_only=True)
class Cutoff:
    """The end of a local day.

    Attributes:
        timezone: zone of the tz database in which days are counted.
        cut_at: local wall clock `HH:MM` at which day D ends, counted from D's own midnight, `00:01` to `36:00`.
        settlement: how long after the cutoff late events still enter the settled snapshot; whole seconds, not negative.
    """

    timezone: str
    cut_at: str = "24:00"
    settlement: timedelta = timedelta(hours=48)

    def __post_init__(self) -> None:
        check_zone("Cutoff", "timezone", self.timezone)
        match = _CUT.fullmatch(self.cut_at) if isinstance(self.cut_at, str) else None
        check(match is not None, "Cutoff", "cut_at", self.cut_at, "a wall clock 'HH:MM'")
        check(
            _EARLIEST_CUT <= self.after_midnight <= _LATEST_CUT,
            "Cutoff",
            "cut_at",
            self.cut_at,
            "from '00:01' to '36:00'",
        )
        check_wait("Cutoff", "settlement", self.settlement)

    @property
    def after_midnight(self) -> timedelta:
        """Wall-clock time from the day's own midnight to its end (`24:00` is 24 hours on every day, also a 23 h one)."""
        hours, minutes = self.cut_at.split(":")
        return timedelta(hours=int(hours), minutes=int(minutes))


def check_wait(declaration: str, field: str, value: timedelta) -> None:
    """A duration of whole seconds, zero or more: it becomes part of partition keys, which print seconds."""
    whole = isinstance(value, timedelta) and value >= timedelta(0) and value.microseconds == 0
    check(whole, declaration, field, value, "a timedelta of whole seconds, zero or more")
