"""Which value of a column does not cast: Arrow's errors say what, not where."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def first_bad(values: pa.Array[Any] | pa.ChunkedArray[Any], target: pa.DataType) -> int:
    """The place of the first value that does not cast to `target`, by binary search. One of them must not."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        try:
            values.slice(low, middle - low + 1).cast(target)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle + 1
    return low
