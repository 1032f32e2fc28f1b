"""What can be wrong with feature logs, labels and snapshots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.errors import FinalError, RetryableError

SHOWN_ROWS = 5


class RowsError(FinalError, ValueError):
    """Rows that may not enter: names the column, the rows (counted from 0) and what was found there."""


class SchemaError(FinalError, TypeError):
    """Columns that are missing, of the wrong type, or that collide; names both sides."""


class EngineMissing(FinalError, ImportError):
    """A training set names an engine whose package is not installed here."""


class TooEarlyError(RetryableError):
    """The clock stands before the knowledge time: what will be known then is not known yet. Waiting helps."""


class SnapshotError(FinalError, ValueError):
    """A snapshot, version or partition key that contradicts itself or its view."""


def row_numbers(rows: Sequence[int] | np.ndarray) -> str:
    """`rows 3, 17, 20 and 4 more`: the first few, and how many there are."""
    shown = ", ".join(str(int(row)) for row in rows[:SHOWN_ROWS])
    more = len(rows) - SHOWN_ROWS
    word = "row" if len(rows) == 1 else "rows"
    return f"{word} {shown} and {more} more" if more > 0 else f"{word} {shown}"
