"""Computed rows become shards only when each has a key of its own."""

from __future__ import annotations

import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.shards.errors import SampleIdRepeated
from headrace.shards.table import write_table


def test_the_first_row_that_repeats_a_key_is_named(lake: LocalStore) -> None:
    """Rows count from 0; nothing is written."""
    rows = pa.table({"n": [5, 6, 7, 6, 5], "x": [1, 2, 3, 4, 5]})

    with pytest.raises(SampleIdRepeated, match="rides row 3: found the same key twice in what was computed from log"):
        write_table(lake, "rides", rows, key=("n",), computed_from="log")

    assert list(lake.list("")) == []
