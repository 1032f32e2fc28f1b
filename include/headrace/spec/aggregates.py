"""What a feature view computes over the events of a window.

Each aggregate names its output: `count("flights")` over 1 and 7 days gives `flights_1d` and `flights_7d`,
`mean("arr_delay")` gives `arr_delay_mean_1d`. Null values take no part, except in `count`, which counts events.
The arithmetic, and why it does not depend on row order or threads, is in `headrace.features.aggregate`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from headrace.spec.errors import check
from headrace.spec.names import check_name


class Function(StrEnum):
    """The functions every engine computes."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    SHARE = "share"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    DISTINCT = "distinct"
    STDDEV = "stddev"


TYPES: Final = ("int64", "float64", "string", "bool", "date32", "timestamp")
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}), ?(\d{1,2})\)")
_TYPE_OF: Final = {
    Function.COUNT: "int64",
    Function.DISTINCT: "int64",
    Function.MEAN: "float64",
    Function.SHARE: "float64",
    Function.STDDEV: "float64",
}


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One function over one column of the log.

    Attributes:
        function: what is computed.
        column: the log column; for `count` only the output's name.
        dtype: the output's type, declared so that a day without any snapshot has the schema of every other day.
    """

    function: Function
    column: str
    dtype: str

    def __post_init__(self) -> None:
        check(isinstance(self.function, Function), "Aggregate", "function", self.function, f"one of {list(Function)}")
        check_name("Aggregate", "column", self.column)
        fixed = _TYPE_OF.get(self.function)
        if fixed is not None:
            check(self.dtype == fixed, f"Aggregate {self.function}", "dtype", self.dtype, fixed)
        known = self.dtype in TYPES or self.decimal is not None
        check(known, f"Aggregate {self.function}", "dtype", self.dtype, f"one of {TYPES} or 'decimal(38, 2)'")

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision (1 to 38) and scale of a decimal output; None for other types."""
        match = _DECIMAL.fullmatch(self.dtype) if isinstance(self.dtype, str) else None
        if match is None:
            return None
        precision, scale = int(match[1]), int(match[2])
        return (precision, scale) if 1 <= precision <= 38 and scale <= precision else None

    @property
    def reads(self) -> str | None:
        """The log column it needs; None for `count`."""
        return None if self.function is Function.COUNT else self.column

    def output(self, days: int) -> str:
        """The feature's name over a window of `days` local days."""
        name = self.column if self.function is Function.COUNT else f"{self.column}_{self.function}"
        return f"{name}_{days}d"


def count(name: str) -> Aggregate:
    """How many events; `name` only names the output."""
    return Aggregate(function=Function.COUNT, column=name, dtype="int64")


def sum_of(column: str, *, dtype: str) -> Aggregate:
    """The exact sum of the values that are not null; null when there are none."""
    return Aggregate(function=Function.SUM, column=column, dtype=dtype)


def mean(column: str) -> Aggregate:
    """The mean of the values that are not null, as float64; null when there are none."""
    return Aggregate(function=Function.MEAN, column=column, dtype="float64")


def share(column: str) -> Aggregate:
    """The share of true among the values of a boolean column that are not null; null when there are none."""
    return Aggregate(function=Function.SHARE, column=column, dtype="float64")


def min_of(column: str, *, dtype: str) -> Aggregate:
    """The smallest value; null when there are none."""
    return Aggregate(function=Function.MIN, column=column, dtype=dtype)


def max_of(column: str, *, dtype: str) -> Aggregate:
    """The greatest value; null when there are none."""
    return Aggregate(function=Function.MAX, column=column, dtype=dtype)


def first(column: str, *, dtype: str) -> Aggregate:
    """The value of the earliest event by (event time, available time, seq); null if that event's value is null."""
    return Aggregate(function=Function.FIRST, column=column, dtype=dtype)


def last(column: str, *, dtype: str) -> Aggregate:
    """The value of the latest event by (event time, available time, seq); null if that event's value is null."""
    return Aggregate(function=Function.LAST, column=column, dtype=dtype)


def distinct(column: str) -> Aggregate:
    """How many different values, null left out."""
    return Aggregate(function=Function.DISTINCT, column=column, dtype="int64")


def stddev(column: str) -> Aggregate:
    """The sample standard deviation (n - 1) as float64; null below two values."""
    return Aggregate(function=Function.STDDEV, column=column, dtype="float64")
