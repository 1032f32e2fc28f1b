"""What an engine is: something that finds, for each question, the log row that was known.

Everything an answer is wrapped in (doors, ttl, reasons, provenance, row order) is common to all engines, so an engine has
one function to get right, and one conformance suite says whether it does.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.features.columns import Flags, Rows, table_of
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
    if name == "spark":
        from headrace.features.engines.spark import SparkEngine

        return SparkEngine()
    raise SchemaError("engine", found=repr(name), expected=f"one of {ENGINES}", remedy="Name an engine that is here.")


def log_table(log: Log, group: Codes) -> pa.Table:
    """The log rows that are in a group as SQL engines take them: integers and flags, no key, no text."""
    rows = np.flatnonzero(group >= 0)
    return _table(
        {
            "row": rows,
            "g": group[rows],
            "x": log.event[rows],
            "a": log.available[rows],
            "seq": log.seq[rows],
            "retraction": log.retraction[rows],
            "retracts": log.retracts[rows],
            "retracts_all": log.retracts_all[rows],
        }
    )


def questions_table(asked: Codes, at: Micros) -> pa.Table:
    """The questions with their positions."""
    return _table({"position": np.arange(asked.size), "g": asked, "at": at})


def _table(columns: dict[str, Rows | Flags]) -> pa.Table:
    return table_of({name: pa.array(values) for name, values in columns.items()})
