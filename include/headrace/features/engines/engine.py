"""What an engine is: something that finds, for each question, the log row that was known.

Everything an answer is wrapped in (doors, ttl, reasons, provenance, row order) is common to all engines, so an engine has
one function to get right, and one conformance suite says whether it does.
"""

from __future__ import annotations

from typing import Protocol

from headrace.features.columns import Rows
from headrace.features.errors import SchemaError
from headrace.features.keys import Codes
from headrace.features.log import Log
from headrace.features.times import Micros
from headrace.spec.training_set import ENGINES


class Search(Protocol):
    """One way to search a log: `Engine.rows_at`, or the same on a stored frontier."""

    def __call__(self, log: Log, group: Codes, asked: Codes, at: Micros, /) -> Rows:
        """See `Engine.rows_at`."""


class Engine(Protocol):
    """What does the searching."""

    def rows_at(self, log: Log, group: Codes, asked: Codes, at: Micros) -> Rows:
        """For each question the row with the greatest (x, a, seq) among its group's rows with `x <= at` and `a <= at`.

        Args:
            log: checked log rows, shape (rows,).
            group: the group of each log row; negative: in no group.
            asked: the group of each question, shape (questions,), in the same codes.
            at: the time of each question, microseconds UTC.

        Returns:
            Row positions in the log, `NO_ROW` where no version was visible, `WITHDRAWN` where all visible ones had been
            retracted. Shape (questions,), in the questions' order.
        """


def engine_named(name: str) -> Engine:
    """The engine of a name that training sets may declare. Raises SchemaError for another."""
    if name == "numpy":
        from headrace.features.engines.numpy import NumpyEngine

        return NumpyEngine()
    if name == "duckdb":
        from headrace.features.engines.duckdb import DuckdbEngine  # DuckDB is loaded only where it is asked for

        return DuckdbEngine()
    raise SchemaError("engine", found=repr(name), expected=f"one of {ENGINES}", remedy="Name an engine that is here.")
