"""Exact sums agree with fractions, whatever the order and the split."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from headrace.quality.exact import exact_from, exact_sums, exact_text, rounded
from hypothesis import given
from hypothesis import strategies as st

finite = st.floats(allow_nan=False, allow_infinity=False)
int64 = st.integers(-(2**63), 2**63 - 1)


def square_rounded_once(value: float) -> Fraction:
    """The square of the mantissa rounded to a float, times the exact power of two: what the sum adds."""
    mantissa, exponent = np.frexp(value)
    return Fraction(float(mantissa * mantissa)) * Fraction(2) ** (2 * int(exponent))


@given(st.lists(finite, min_size=1, max_size=60))
def test_float_sums_equal_the_sum_of_fractions(values):
    """No rounding at all in the sum, one per value in the squares, at any magnitude."""
    total, squares = exact_sums(np.array(values))
    assert total == sum(map(Fraction, values))
    assert squares == sum(map(square_rounded_once, values))


@given(st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e-300, 2.0**-480, 2.0**480, 1e154, 5e-324]), min_size=1))
def test_usual_and_unusual_values_sum_alike(values):
    """At the borders between the two ways of summing, and with zeros among the values, the sums are the same fractions."""
    total, squares = exact_sums(np.array(values))
    assert total == sum(map(Fraction, values))
    assert squares == sum(map(square_rounded_once, values))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("least", [None, 0.0, 2.0**-40, 2.0**-400, -3e-90])
def test_a_full_pass_of_the_largest_values_does_not_overflow(sign, least):
    """16,384 values just below a power of two fill the whole numbers to the last bit; a tiny one among them takes more cuts."""
    value = sign * np.nextafter(2.0**17, 0)
    values = np.full(16_384, value) if least is None else np.append(np.full(16_383, value), least)
    total, squares = exact_sums(values)
    assert total == sum(map(Fraction, values.tolist()))
    assert squares == sum(map(square_rounded_once, values.tolist()))


@given(st.lists(int64, min_size=1, max_size=60))
def test_integer_sums_are_exact(values):
    """Integers up to 64 bits: sum and sum of squares without overflow."""
    assert exact_sums(np.array(values, dtype=np.int64)) == (sum(values), sum(v * v for v in values))


def test_unsigned_integers_are_exact():
    """The largest unsigned value squares beyond any machine integer."""
    assert exact_sums(np.array([2**64 - 1] * 3, dtype=np.uint64)) == (3 * (2**64 - 1), 3 * (2**64 - 1) ** 2)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8, np.float32, np.uint16])
def test_no_values_sum_to_nothing(dtype):
    """An empty column has sums of 0."""
    assert exact_sums(np.array([], dtype=dtype)) == (0, 0)


def test_many_values_cross_chunks():
    """More values than one pass holds: the same as one exact sum of the parts."""
    values = np.random.default_rng(1).lognormal(size=200_001)
    whole, parts = exact_sums(values), [exact_sums(values[i::7]) for i in range(7)]
    assert whole == (sum(p[0] for p in parts), sum(p[1] for p in parts))


@given(finite)
def test_text_round_trips(value):
    """One text per number, both ways."""
    assert exact_from(exact_text(Fraction(value))) == Fraction(value)


@pytest.mark.parametrize(("value", "text"), [(0, "0x0p0"), (1, "0x1p0"), (-6, "-0x3p1"), (0.375, "0x3p-3"), (2**70, "0x1p70")])
def test_text_is_lowest_terms(value, text):
    """Odd numerator and a power of two, so equal numbers have equal text."""
    assert exact_text(Fraction(value)) == text


@pytest.mark.parametrize("text", ["1.5", "0x1", "p3", "", "nan"])
def test_other_text_is_refused(text):
    """Nothing but the exact form is read."""
    with pytest.raises(ValueError, match="not an exact number"):
        exact_from(text)


def test_a_sum_beyond_every_float_is_absent_not_infinite():
    """Strict JSON has no infinity."""
    assert rounded(Fraction(10) ** 400) is None
