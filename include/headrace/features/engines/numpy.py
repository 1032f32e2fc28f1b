"""The reference engine: the visible frontier in numpy, in one process."""

from __future__ import annotations

from headrace.features.columns import Rows
from headrace.features.frontier import rows_at, visible_steps
from headrace.features.keys import Codes
from headrace.features.log import Log
from headrace.features.times import Micros


class NumpyEngine:
    """One sort of the log, one running maximum, one binary search per question."""

    def rows_at(self, log: Log, group: Codes, asked: Codes, at: Micros) -> Rows:
        """See `Engine.rows_at`."""
        return rows_at(visible_steps(log, group), asked, at)
