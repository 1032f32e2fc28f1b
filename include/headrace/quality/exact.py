"""Exact sums: the same number whatever the order, the split into batches, or the machine.

A float is an integer times a power of two, so a sum of floats is one too. From each value the part above a common bit is cut off by
adding and subtracting one large number; these parts are few enough bits wide that float64 adds them without rounding, and the rest is cut
again until nothing is left (the error-free vector transformation of Rump, Ogita and Oishi 2008). `math.fsum` is exact as well but
returns a rounded value that cannot be merged; compensated sums depend on order in their last bits. About 3 ns a value; values
so large or small that their squares leave the range of a float go another way, by mantissas per exponent, at ten times that.

Squares: each square is rounded once (relative 2**-53), then added exactly. So sums of squares are order-independent and
cannot overflow, but a variance far below the squared mean (1e-12 of it) keeps only a few digits. Integers are exact throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_CHUNK: Final = 1 << 14  # values per pass: the temporaries stay in the processor's cache
_HEADROOM: Final = 15  # bits above the largest value, so that _CHUNK parts add up without rounding
_USUAL: Final = (2.0**-480, 2.0**480)  # absolute values whose squares, and parts of squares, are ordinary floats
_LIMB: Final = 22  # bits; a product of two limbs has 44, so a chunk's sum stays far below 2**63
_TEXT: Final = re.compile(r"(-?)0x([0-9a-f]+)p(-?\d+)")


def exact_sums(values: npt.NDArray[Any]) -> tuple[Fraction, Fraction]:
    """Sum and sum of squares of finite values, int or float, shape [n]."""
    add = _integer_sums if values.dtype.kind in "iu" else _float_sums
    sums = [add(values[start : start + _CHUNK]) for start in range(0, len(values), _CHUNK)]
    return _added([part for parts, _ in sums for part in parts]), _added([part for _, parts in sums for part in parts])


def _added(parts: Sequence[Fraction | float]) -> Fraction:
    """The exact sum of fractions or floats over powers of two, brought to one denominator: fractions one by one cost more."""
    ratios = [part.as_integer_ratio() for part in parts]
    denominator = max((below for _, below in ratios), default=1)
    return Fraction(sum(above * (denominator // below) for above, below in ratios), denominator)


def _float_sums(chunk: npt.NDArray[Any]) -> tuple[list[Fraction], list[Fraction]] | tuple[list[float], list[float]]:
    plain = chunk.astype(np.float64)  # a copy: it is used up
    with np.errstate(over="ignore", under="ignore"):  # found out in the next line
        squares = plain * plain
    if squares.max() > _USUAL[1] ** 2 or np.count_nonzero(squares < _USUAL[0] ** 2) > np.count_nonzero(plain == 0):
        return _unusual_sums(chunk)
    return _parts(plain), _parts(squares)


def _parts(rest: npt.NDArray[np.float64]) -> list[float]:
    """Floats whose exact sum is that of at most _CHUNK usual values, which are used up."""
    parts, part = [], np.empty_like(rest)
    while largest := max(float(rest.max()), -float(rest.min())):
        cut = 1.5 * 2.0 ** (math.frexp(largest)[1] + _HEADROOM)
        np.add(rest, cut, out=part)
        np.subtract(part, cut, out=part)
        parts.append(float(part.sum()))
        np.subtract(rest, part, out=rest)
    return parts


def _unusual_sums(chunk: npt.NDArray[Any]) -> tuple[list[Fraction], list[Fraction]]:
    """Mantissas added per exponent, in two halves so small that float64 adds them exactly."""
    mantissa, exponent = np.frexp(chunk.astype(np.float64, copy=False))
    lowest = int(exponent.min())
    slot = (exponent - lowest).astype(np.intp)
    total = _slot_sums(slot, mantissa * 2.0**53, half=26)
    squares = _slot_sums(slot, mantissa * mantissa * 2.0**54, half=27)
    # mantissa = whole / 2**53, and squares of mantissas / 2**54 with doubled exponents
    return (
        [part * _power(lowest + i - 53) for i, part in enumerate(total) if part],
        [part * _power(2 * (lowest + i) - 54) for i, part in enumerate(squares) if part],
    )


def _slot_sums(slot: npt.NDArray[np.intp], whole: npt.NDArray[np.float64], *, half: int) -> list[int]:
    """Sum of whole numbers (as float64) per slot, exact: high and low halves cannot round when added 2**16 times."""
    high = np.floor(whole * 2.0**-half)
    low = whole - high * 2.0**half
    highs, lows = np.bincount(slot, weights=high), np.bincount(slot, weights=low)
    return [(int(a) << half) + int(b) for a, b in zip(highs, lows, strict=True)]


def _integer_sums(chunk: npt.NDArray[Any]) -> tuple[list[Fraction], list[Fraction]]:
    largest = max(abs(int(chunk.max())), abs(int(chunk.min())))
    if largest * largest * len(chunk) < 1 << 62:
        small = chunk.astype(np.int64)
        return [Fraction(int(small.sum()))], [Fraction(int(np.dot(small, small)))]
    mask = (1 << _LIMB) - 1
    limbs = [(chunk & mask).astype(np.int64), (chunk >> _LIMB & mask).astype(np.int64), (chunk >> 2 * _LIMB).astype(np.int64)]
    total = sum(int(limb.sum()) << (_LIMB * i) for i, limb in enumerate(limbs))
    squares = sum(int(np.dot(a, b)) << (_LIMB * (i + j)) for i, a in enumerate(limbs) for j, b in enumerate(limbs))
    return [Fraction(total)], [Fraction(squares)]


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def exact_text(value: Fraction) -> str:
    """`-0x1f3p-40`: hexadecimal numerator, binary exponent, lowest terms. One text per number; JSON numbers would round."""
    numerator, exponent = value.numerator, 1 - value.denominator.bit_length()
    if numerator and exponent == 0:
        twos = (numerator & -numerator).bit_length() - 1
        numerator, exponent = numerator >> twos, twos
    sign = "-" if numerator < 0 else ""
    return f"{sign}0x{abs(numerator):x}p{exponent}"


def exact_from(text: str) -> Fraction:
    """The inverse of `exact_text`. Raises ValueError for any other text."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"not an exact number: {text!r}")
    sign, digits, exponent = match.groups()
    return (-1 if sign else 1) * int(digits, 16) * _power(int(exponent))


def rounded(value: Fraction) -> float | None:
    """The nearest float, None when it lies beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return None
