"""Random numbers that depend on nothing but their key.

SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the i-th number is a fixed mix of
`key + i * golden`, so any number is had without the ones before it, and the numbers of one key are all different (each step is a
bijection of 64 bits). NumPy promises its own generators' streams for one version only; an order must outlive that.
Not for cryptography.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from headrace.spec.canonical import digest_of

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def key_of(*parts: str | int) -> int:
    """A 64-bit key: the first 8 bytes of SHA-256 over the parts' canonical JSON."""
    return int(digest_of(list(parts))[:16], 16)


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finalizer, value by value. Shape kept."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * _FIRST
        values = (values ^ (values >> np.uint64(27))) * _SECOND
    return values ^ (values >> np.uint64(31))


def numbers(key: int, count: int) -> NDArray[np.uint64]:
    """The first `count` numbers of a key. Shape (count,), all different."""
    with np.errstate(over="ignore"):
        return mixed(np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN + np.uint64(key))


def permutation(key: int, count: int) -> NDArray[np.int64]:
    """A shuffle of `0..count-1`: the places sorted by their numbers. No two are equal, so any sort gives the same."""
    return np.argsort(numbers(key, count)).astype(np.int64, copy=False)
