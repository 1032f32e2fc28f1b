"""Aggregates are exact where sums get large, and refuse what cannot be exact."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.aggregate import Ranges, aggregate
from headrace.features.errors import RowsError, SchemaError
from headrace.features.feature_types import check_values
from headrace.spec.aggregates import Aggregate, count, distinct, first, last, max_of, mean, min_of, share, stddev, sum_of


def ranges(*pairs: tuple[int, int]) -> Ranges:
    return Ranges(start=np.array([s for s, _ in pairs], dtype=np.int64), end=np.array([e for _, e in pairs], dtype=np.int64))


def over(spec: Aggregate, values: pa.Array, *pairs: tuple[int, int]) -> list[object]:
    return aggregate(spec, pa.chunked_array([values]), ranges(*(pairs or ((0, len(values)),)))).to_pylist()


def test_sums_beyond_a_float_are_exact() -> None:
    """2**53 + 1 and 2**62 keep their last digit; so does a mean of integers whose sum does not fit int64."""
    values = pa.array([2**53, 1, 2**62, 2**62 - 2**53 - 2], pa.int64())

    assert over(sum_of("v", dtype="int64"), values) == [2**63 - 1]
    assert over(mean("v"), pa.array([2**63 - 1, 2**63 - 1], pa.int64())) == [float(2**63 - 1)]


def test_a_sum_outside_int64_is_refused() -> None:
    """It would wrap around to a plausible number."""
    with pytest.raises(RowsError, match="outside int64"):
        over(sum_of("v", dtype="int64"), pa.array([2**63 - 1, 1], pa.int64()))


def test_an_integer_sum_declared_as_a_decimal_has_38_digits() -> None:
    """Twice the greatest int64 is a number like any other there; what needs a 39th digit is refused."""
    largest = pa.array([2**63 - 1, 2**63 - 1], pa.int64())

    assert over(sum_of("v", dtype="decimal(38, 0)"), largest) == [Decimal(2**64 - 2)]
    with pytest.raises(RowsError, match="outside 38 digits"):
        over(sum_of("v", dtype="decimal(38, 0)"), pa.array([Decimal(10**38 - 1), Decimal(1)], pa.decimal128(38, 0)))


def test_unsigned_integers_beyond_int64_are_summed_as_they_are() -> None:
    """Not as negative numbers."""
    assert over(mean("v"), pa.array([2**64 - 1, 2**64 - 1], pa.uint64())) == [float(2**64 - 1)]


def test_decimals_stay_decimals() -> None:
    """To the cent; their mean is a float, divided once."""
    values = pa.array([Decimal("0.10"), Decimal("0.20"), None], pa.decimal128(12, 2))

    assert over(sum_of("v", dtype="decimal(38, 2)"), values) == [Decimal("0.30")]
    assert over(mean("v"), values) == [0.15]
    assert over(stddev("v"), values) == [pytest.approx(0.0707106781186547, abs=1e-16)]


def test_float_sums_are_the_exact_sum_rounded_once() -> None:
    """1e16 + 1 - 1e16 is 1, in any order."""
    for values in ([1e16, 1.0, -1e16], [1.0, 1e16, -1e16], [-1e16, 1e16, 1.0]):
        assert over(sum_of("v", dtype="float64"), pa.array(values)) == [1.0]


def test_partial_sums_may_leave_float64_and_the_sum_may_not() -> None:
    """1e308 twice and taken away again leaves what was there besides; without taking it away there is no such number."""
    assert over(sum_of("v", dtype="float64"), pa.array([1e308, 1e308, -1e308, -1e308, 5.0])) == [5.0]
    assert over(mean("v"), pa.array([1e308, 1e308, -1e308, -1e308, 5.0])) == [1.0]
    with pytest.raises(RowsError, match=r"log\.v: found a sum outside float64"):
        over(sum_of("v", dtype="float64"), pa.array([1e308, 1e308]))


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-400, 1.0, 2.0**400, 2.0**1000])
def test_a_deviation_may_be_as_large_or_small_as_its_values(scale: float) -> None:
    """Its square leaves float64 long before; by a power of two nothing but the exponent changes."""
    assert over(stddev("v"), pa.array([1 * scale, 2 * scale, 4 * scale])) == [1.5275252316519468 * scale]


def test_a_deviation_outside_float64_is_refused() -> None:
    """The greatest float and its opposite are further apart than any float says."""
    with pytest.raises(RowsError, match="a deviation outside float64"):
        over(stddev("v"), pa.array([1.7e308, -1.7e308]))


def test_minus_zero_is_zero() -> None:
    """Two equal numbers are one value."""
    assert over(distinct("v"), pa.array([0.0, -0.0, 1.0])) == [2]


def test_a_small_spread_around_a_large_value_is_not_lost() -> None:
    """The textbook formula in floats gives 0 or a negative variance here."""
    assert over(stddev("v"), pa.array([1e9 + 1, 1e9 + 2, 1e9 + 3])) == [1.0]
    assert over(stddev("v"), pa.array([10**15 + 1, 10**15 + 2, 10**15 + 3])) == [1.0]


def test_empty_ranges_anywhere_are_null_or_zero() -> None:
    """At the start, in the middle and at the end; the ranges beside them are not disturbed."""
    values, pairs = pa.array([4, 2, 9], pa.int64()), ((0, 0), (0, 2), (2, 2), (2, 3), (3, 3))

    assert over(min_of("v", dtype="int64"), values, *pairs) == [None, 2, None, 9, None]
    assert over(max_of("v", dtype="int64"), values, *pairs) == [None, 4, None, 9, None]
    assert over(sum_of("v", dtype="int64"), values, *pairs) == [None, 6, None, 9, None]
    assert over(distinct("v"), values, *pairs) == [0, 2, 0, 1, 0]
    assert over(first("v", dtype="int64"), values, *pairs) == [None, 4, None, 9, None]
    assert over(last("v", dtype="int64"), values, *pairs) == [None, 2, None, 9, None]
    assert aggregate(count("n"), None, ranges(*pairs)).to_pylist() == [0, 2, 0, 1, 0]


def test_rows_between_ranges_take_no_part() -> None:
    """A short window skips the older rows of each entity."""
    values, pairs = pa.array([100, 1, 2, 100, 3], pa.int64()), ((1, 3), (4, 5))

    assert over(max_of("v", dtype="int64"), values, *pairs) == [2, 3]
    assert over(sum_of("v", dtype="int64"), values, *pairs) == [3, 3]
    assert over(distinct("v"), values, *pairs) == [2, 1]


def test_all_null_is_null_and_not_zero() -> None:
    """No value, no sum, no mean, no share; no distinct value is zero of them."""
    nothing = pa.array([None, None], pa.int64())

    assert over(sum_of("v", dtype="int64"), nothing) == [None]
    assert over(mean("v"), nothing) == [None]
    assert over(share("v"), pa.array([None], pa.bool_())) == [None]
    assert over(distinct("v"), nothing) == [0]
    assert over(min_of("v", dtype="int64"), nothing) == [None]


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        (share("v"), pa.array([0, 1])),
        (mean("v"), pa.array(["1"])),
        (sum_of("v", dtype="int64"), pa.array([[1]])),
        (min_of("v", dtype="string"), pa.array([[1]])),
        (last("v", dtype="int64"), pa.nulls(2)),
        (distinct("v"), pa.nulls(2)),
        (max_of("v", dtype="timestamp"), pa.array([0], pa.timestamp("us"))),
    ],
)
def test_a_column_of_the_wrong_type_is_refused(spec: Aggregate, values: pa.Array) -> None:
    """With the type that was found."""
    with pytest.raises(SchemaError) as caught:
        check_values(spec, pa.chunked_array([values]))

    assert caught.value.found == str(values.type)


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        (sum_of("v", dtype="int64"), pa.array([0.5])),
        (max_of("v", dtype="float64"), pa.array([2**53 + 1], pa.int64())),
        (max_of("v", dtype="int64"), pa.array(["x"])),
    ],
)
def test_a_value_that_is_not_exact_in_the_declared_type_is_refused(spec: Aggregate, values: pa.Array) -> None:
    """Nothing is rounded into the schema."""
    with pytest.raises(SchemaError, match="exact as"):
        over(spec, values)
