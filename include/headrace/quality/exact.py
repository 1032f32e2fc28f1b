"""Exact sums: the same number whatever the order, the split into batches, or the machine.

A float is a whole number times a power of two, so a sum of floats is one too. Adding one large power of two to every value leaves its
upper bits, as a whole number, in the last bits of the result (the cut of Rump, Ogita and Oishi 2008); read as 64-bit integers, these add
up without rounding. What the cut left over is exact and is cut again; the smallest value says how often, mostly twice. About 3 ns for a
value and its square. `math.fsum` is exact as well but returns a rounded value that cannot be merged; compensated sums depend on order in
their last bits. Values so large or small that their squares leave the range of a float go another way, by mantissas per exponent, at
ten times that.

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
_CUT: Final = 48  # bits of each value per cut: _CHUNK whole numbers of so many bits add up in 63
_DIGITS: Final = 52  # bits of a float after its first
_USUAL: Final = (2.0**-480, 2.0**480)  # absolute values whose squares, and parts of squares, are ordinary floats
_LIMB: Final = 22  # bits; a product of two limbs has 44, so a chunk's sum stays far below 2**63
_TEXT: Final = re.compile(r"(-?)0x([0-9a-f]+)p(-?\d+)")


Units = tuple[int, int]
"""`(n, exponent)`: the number n * 2**exponent."""


def exact_sums(values: npt.NDArray[Any]) -> tuple[Fraction, Fraction]:
    """Sum and sum of squares of finite values, int or float, shape [n]."""
    add = _integer_sums if values.dtype.kind in "iu" else _float_sums
    sums = [add(values[start : start + _CHUNK]) for start in range(0, len(values), _CHUNK)]
    return _added([part for parts, _ in sums for part in parts]), _added([part for _, parts in sums for part in parts])


def _added(parts: Sequence[Units]) -> Fraction:
    """The exact sum, brought to one exponent: fractions one by one cost more."""
    lowest = min((exponent for _, exponent in parts), default=0)
    return sum(whole << (exponent - lowest) for whole, exponent in parts) * _power(lowest)


def _float_sums(chunk: npt.NDArray[Any]) -> tuple[list[Units], list[Units]]:
    plain = chunk.astype(np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore"):  # found out below
        squares = plain * plain
    smallest, largest = float(squares.min()), float(squares.max())
    if smallest < _USUAL[0] ** 2:  # zeros, or values too small
        if np.count_nonzero(squares >= _USUAL[0] ** 2) < np.count_nonzero(plain != 0):
            return _unusual_sums(chunk)
        if largest == 0:
            return [], []
        smallest = _smallest_above_zero(squares)
    if largest > _USUAL[1] ** 2:
        return _unusual_sums(chunk)
    low, high = math.frexp(smallest)[1] - 1, math.frexp(largest)[1]  # squares are 0 or in [2**low, 2**high)
    # A value just below 2**(low / 2) may have a square that was rounded up to 2**low.
    return _whole_sums(plain, low // 2 - 1 - _DIGITS, -(-high // 2)), _whole_sums(squares, low - _DIGITS, high)


def _smallest_above_zero(squares: npt.NDArray[np.float64]) -> float:
    """Of some that are: their bit patterns sort as they do, and that of 0 less one is the largest there is."""
    return float(((squares.view(np.uint64) - np.uint64(1)).min() + np.uint64(1)).view(np.float64))


def _whole_sums(values: npt.NDArray[np.float64], unit: int, below: int) -> list[Units]:
    """The sum of at most _CHUNK multiples of 2**unit, none as large as 2**below."""
    parts: list[Units] = []
    while True:
        exponent = below - _CUT
        cut = np.float64(1.5 * 2.0 ** (exponent + _DIGITS))
        moved = values + cut
        # Equal exponents, so bit patterns differ by whole numbers; the sum wraps at 64 bits, what they add up to does not.
        whole = int(moved.view(np.int64).sum()) - len(values) * int(cut.view(np.int64))
        parts.append(((whole + (1 << 63)) % (1 << 64) - (1 << 63), exponent))
        if exponent <= unit:
            return parts
        moved -= cut
        values = values - moved
        below = exponent - 1


def _unusual_sums(chunk: npt.NDArray[Any]) -> tuple[list[Units], list[Units]]:
    """Mantissas added per exponent, in two halves so small that float64 adds them exactly."""
    mantissa, exponent = np.frexp(chunk.astype(np.float64, copy=False))
    lowest = int(exponent.min())
    slot = (exponent - lowest).astype(np.intp)
    total = _slot_sums(slot, mantissa * 2.0**53, half=26)
    squares = _slot_sums(slot, mantissa * mantissa * 2.0**54, half=27)
    # mantissa = whole / 2**53, and squares of mantissas / 2**54 with doubled exponents
    return (
        [(part, lowest + i - 53) for i, part in enumerate(total) if part],
        [(part, 2 * (lowest + i) - 54) for i, part in enumerate(squares) if part],
    )


def _slot_sums(slot: npt.NDArray[np.intp], whole: npt.NDArray[np.float64], *, half: int) -> list[int]:
    """Sum of whole numbers (as float64) per slot, exact: high and low halves cannot round when added 2**16 times."""
    high = np.floor(whole * 2.0**-half)
    low = whole - high * 2.0**half
    highs, lows = np.bincount(slot, weights=high), np.bincount(slot, weights=low)
    return [(int(a) << half) + int(b) for a, b in zip(highs, lows, strict=True)]


def _integer_sums(chunk: npt.NDArray[Any]) -> tuple[list[Units], list[Units]]:
    largest = max(abs(int(chunk.max())), abs(int(chunk.min())))
    if largest * largest * len(chunk) < 1 << 62:
        small = chunk.astype(np.int64)
        return [(int(small.sum()), 0)], [(int(np.dot(small, small)), 0)]
    mask = (1 << _LIMB) - 1
    limbs = [(chunk & mask).astype(np.int64), (chunk >> _LIMB & mask).astype(np.int64), (chunk >> 2 * _LIMB).astype(np.int64)]
    total = sum(int(limb.sum()) << (_LIMB * i) for i, limb in enumerate(limbs))
    squares = sum(int(np.dot(a, b)) << (_LIMB * (i + j)) for i, a in enumerate(limbs) for j, b in enumerate(limbs))
    return [(total, 0)], [(squares, 0)]


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
