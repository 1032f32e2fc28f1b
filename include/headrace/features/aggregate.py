"""Windowed aggregates whose results depend on the values alone: not on row order, thread count or engine.

Integers, booleans and decimals are summed exactly, as integers (a decimal is an integer and a scale). Floats are summed
with `math.fsum`, the correctly rounded value of the exact sum; where its partial sums leave float64, as exact fractions. Means of exact
sums are divided once, correctly rounded.
A parallel float sum gives another last digit for another thread count, and the digest of a snapshot another value.

Input is one column whose rows are sorted by entity and then by (event time, available time, seq), and for each entity a
half-open range `[start, end)` of rows: the events of its window. Ranges may be empty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.features.columns import Array, Column, Flags, Rows, integers, nulls, picked, sort_order, table_of, whole
from headrace.features.errors import RowsError, SchemaError
from headrace.features.feature_types import output_type
from headrace.features.keys import value_codes
from headrace.spec.aggregates import Aggregate, Function

_FITS_INT64 = 2**63
_FITS_DECIMAL = 10**38
_NOT_THESE = "Keep such numbers out in the rows function, or make them null."
_WIDE = Context(prec=80)  # decimal256 has 76 digits; nothing may be rounded here


@dataclass(frozen=True)
class Ranges:
    """Half-open row ranges, one per entity. Shape (entities,)."""

    start: Rows
    end: Rows

    @property
    def count(self) -> Rows:
        """Rows per entity."""
        return self.end - self.start


def aggregate(spec: Aggregate, column: Column | None, ranges: Ranges) -> Array:
    """One value per entity, shape (entities,).

    Args:
        spec: the function and its column.
        column: the sorted column; None for `count`.
        ranges: the rows of each entity.

    Raises:
        SchemaError: the column's type does not fit the function or the declared dtype.
        RowsError: a NaN or infinity, or a sum outside int64.
    """
    found = _computed(spec, column, ranges)
    try:
        return found.cast(output_type(spec))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"feature {spec.function} of {spec.column}",
            found=f"{found.type} ({error})",
            expected=f"values that are exact as {spec.dtype}",
            remedy="Declare the dtype the column has.",
        ) from error


def _computed(spec: Aggregate, column: Column | None, ranges: Ranges) -> Array:
    if column is None:
        return pa.array(ranges.count, pa.int64())
    if spec.function in (Function.FIRST, Function.LAST):
        return _edge(column, ranges, last=spec.function is Function.LAST)
    valid = ~nulls(column)
    before = np.concatenate([[0], np.cumsum(valid)])
    present = Ranges(start=before[ranges.start], end=before[ranges.end])
    return _OVER_PRESENT[spec.function](spec, column.drop_null(), present)


def _edge(column: Column, ranges: Ranges, *, last: bool) -> Array:
    rows = ranges.end - 1 if last else ranges.start
    return picked(column, np.where(ranges.count == 0, -1, rows))


def _sum(spec: Aggregate, column: Column, ranges: Ranges) -> Array:
    empty = ranges.count == 0
    if pa.types.is_floating(column.type):
        return pa.array(np.array(_float_sums(spec, _floats(column), ranges), dtype=np.float64), mask=empty)
    units, scale = _units(column)
    sums = _exact_sums(units, ranges)
    if pa.types.is_decimal(column.type) or spec.decimal is not None:
        return _decimals(spec, sums, scale, empty)
    if any(not -_FITS_INT64 <= total < _FITS_INT64 for total in sums):
        raise _too_large(spec, "sum", "int64", "Declare the sum as a decimal, such as dtype='decimal(38, 0)'.")
    return pa.array(np.array(sums, dtype=np.int64), mask=empty)


def _decimals(spec: Aggregate, sums: Sequence[int], scale: int, empty: Flags) -> Array:
    if any(abs(total) >= _FITS_DECIMAL for total in sums):
        raise _too_large(spec, "sum", "38 digits", "Sum over a shorter window, or in a larger unit.")
    exact = [None if none else Decimal(total).scaleb(-scale, _WIDE) for total, none in zip(sums, empty, strict=True)]
    return pa.array(exact, pa.decimal128(38, scale))


def _too_large(spec: Aggregate, what: str, bound: str, remedy: str) -> RowsError:
    return RowsError(f"log.{spec.column}", found=f"a {what} outside {bound}", expected=f"one within {bound}", remedy=remedy)


def _mean(spec: Aggregate, column: Column, ranges: Ranges) -> Array:
    counts = ranges.count
    if pa.types.is_floating(column.type):
        sums = np.array(_float_sums(spec, _floats(column), ranges), dtype=np.float64)
        return pa.array(sums / np.maximum(counts, 1), mask=counts == 0)
    units, scale = _units(column)
    totals = _exact_sums(units, ranges)
    means = [total / (n * 10**scale) if n > 0 else 0.0 for total, n in zip(totals, counts.tolist(), strict=True)]
    return pa.array(np.array(means, dtype=np.float64), mask=counts == 0)


def _stddev(spec: Aggregate, column: Column, ranges: Ranges) -> Array:
    edges = list(zip(ranges.start.tolist(), ranges.end.tolist(), strict=True))
    if pa.types.is_floating(column.type):
        values = _floats(column).tolist()
        try:
            return pa.array([_float_deviation(values[start:end]) for start, end in edges], pa.float64())
        except OverflowError as error:
            raise _too_large(spec, "deviation", "float64", _NOT_THESE) from error
    units, scale = _units(column)
    return pa.array([_exact_deviation(units[start:end], scale) for start, end in edges], pa.float64())


def _extreme(spec: Aggregate, column: Column, ranges: Ranges) -> Array:
    """Smallest or greatest value, through the rank of every value: one way for numbers, text and instants."""
    order = sort_order(table_of({"value": column}), ["value"])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    filled = np.flatnonzero(ranges.count > 0)
    chosen = np.full(ranges.start.shape, -1, dtype=np.int64)
    if filled.size > 0:
        reduce = np.minimum.reduceat if spec.function is Function.MIN else np.maximum.reduceat
        bounds = np.stack([ranges.start[filled], ranges.end[filled]], axis=1).ravel()
        chosen[filled] = order[reduce(np.append(rank, rank[-1:]), bounds)[::2]]
    return picked(column, chosen)


def _distinct(_: Aggregate, column: Column, ranges: Ranges) -> Array:
    codes, distinct = value_codes(_one_zero(column))
    entity = np.repeat(np.arange(ranges.start.size), ranges.count)
    span = max(distinct, 1)
    pairs = np.unique(entity * span + codes[_members(ranges)])
    found = np.bincount(pairs // span, minlength=ranges.start.size)
    return pa.array(found.astype(np.int64), pa.int64())


_OVER_PRESENT: dict[Function, Callable[[Aggregate, Column, Ranges], Array]] = {
    Function.SUM: _sum,
    Function.MEAN: _mean,
    Function.SHARE: _mean,
    Function.MIN: _extreme,
    Function.MAX: _extreme,
    Function.DISTINCT: _distinct,
    Function.STDDEV: _stddev,
}


def _members(ranges: Ranges) -> Rows:
    """The row numbers of all ranges, one range after the other."""
    counts = ranges.count
    total = int(counts.sum())
    return np.arange(total) - np.repeat(np.cumsum(counts) - counts - ranges.start, counts)


def _one_zero(column: Column) -> Column:
    """Floats with 0.0 for -0.0: they are equal, and one value."""
    return cast("Column", pc.add(column.cast(pa.float64()), 0.0)) if pa.types.is_floating(column.type) else column


def _floats(column: Column) -> npt.NDArray[np.float64]:
    return np.asarray(whole(column.cast(pa.float64())).to_numpy(), dtype=np.float64)


def _float_sums(spec: Aggregate, values: npt.NDArray[np.float64], ranges: Ranges) -> list[float]:
    numbers = values.tolist()
    try:
        return [_float_sum(numbers[start:end]) for start, end in zip(ranges.start.tolist(), ranges.end.tolist(), strict=True)]
    except OverflowError as error:
        raise _too_large(spec, "sum", "float64", _NOT_THESE) from error


def _float_sum(values: Sequence[float]) -> float:
    """The exact sum, rounded once. Raises OverflowError when it lies outside float64."""
    try:
        return math.fsum(values)
    except OverflowError:  # of a partial sum; the sum itself may fit
        return float(sum(map(Fraction, values)))


def _units(column: Column) -> tuple[Any, int]:
    """The values as integers times 10**-scale: an int64 array where they fit, else a list of Python integers."""
    if pa.types.is_decimal(column.type):
        scale = column.type.scale
        return [int(value.scaleb(scale, _WIDE)) for value in cast("list[Decimal]", column.to_pylist())], scale
    if pa.types.is_uint64(column.type):
        return column.to_pylist(), 0
    return integers(column), 0


def _exact_sums(units: npt.NDArray[np.int64] | list[int], ranges: Ranges) -> list[int]:
    if isinstance(units, np.ndarray):
        largest = max(int(units.max(initial=0)), -int(units.min(initial=0)))
        if largest * max(units.size, 1) < _FITS_INT64:
            running = np.concatenate([[0], np.cumsum(units)])
            return cast("list[int]", (running[ranges.end] - running[ranges.start]).tolist())
        units = units.tolist()
    return [sum(units[start:end]) for start, end in zip(ranges.start.tolist(), ranges.end.tolist(), strict=True)]


def _exact_deviation(units: Sequence[int], scale: int) -> float | None:
    whole = [int(unit) for unit in units]
    n = len(whole)
    if n < 2:
        return None
    spread = n * sum(unit * unit for unit in whole) - sum(whole) ** 2
    return math.sqrt(spread / (n * (n - 1) * 10 ** (2 * scale)))


def _float_deviation(values: Sequence[float]) -> float | None:
    """From the exact rational sums: a mean rounded first would lose digits of a small spread around a large value."""
    n = len(values)
    if n < 2:
        return None
    exact = [Fraction(value) for value in values]
    spread = n * sum((value * value for value in exact), Fraction()) - sum(exact, Fraction()) ** 2
    return _root(spread / (n * (n - 1)))


def _root(square: Fraction) -> float:
    """The square root, also where the square itself is too large or too small for float64. Raises OverflowError where the root is."""
    digits = square.numerator.bit_length() - square.denominator.bit_length()
    if abs(digits) < 1000:
        return math.sqrt(square)
    half = digits // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)
