"""Equal keys have equal codes, and nothing else has."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from headrace.features.errors import SchemaError
from headrace.features.keys import NULL_KEY, shared_codes
from hypothesis import given, settings
from hypothesis import strategies as st

parts = st.tuples(
    st.sampled_from(["", "1", "11", "a,b", None]), st.sampled_from([0, 1, -(2**63), 2**63 - 1, None]), st.booleans()
)


def table(rows: list[tuple[object, ...]]) -> pa.Table:
    return pa.table(
        {
            "a": pa.array([row[0] for row in rows], pa.string()),
            "b": pa.array([row[1] for row in rows], pa.int64()),
            "c": pa.array([row[2] for row in rows], pa.bool_()),
        }
    )


@given(st.lists(parts, max_size=20), st.lists(parts, max_size=20))
@settings(max_examples=200, deadline=None)
def test_codes_are_equal_where_keys_are(left: list[tuple[object, ...]], right: list[tuple[object, ...]]) -> None:
    """Over both tables; a key with a null part has no code."""
    one, two = shared_codes([table(left), table(right)], ["a", "b", "c"], ["labels", "log"])

    codes = [*one.tolist(), *two.tolist()]
    rows = [*left, *right]
    for i, row in enumerate(rows):
        assert (codes[i] == NULL_KEY) == (None in row)
        for j, other in enumerate(rows):
            if None not in row and None not in other:
                assert (codes[i] == codes[j]) == (row == other)


def test_many_wide_columns_do_not_overflow() -> None:
    """Eight columns of 500 distinct values each would need 2**72 codes if they were only multiplied."""
    rows = {f"k{n}": pa.array([i * (n + 1) % 500 for i in range(500)], pa.int64()) for n in range(8)}
    codes = shared_codes([pa.table(rows)], list(rows), ["log"])[0]

    assert len(set(codes.tolist())) == 500
    assert codes.min() >= 0


def test_dates_bytes_and_decimals_are_keys() -> None:
    """They compare exactly."""
    keys = pa.table({"d": [date(2013, 1, 1)] * 2, "b": [b"x", b"y"], "m": pa.array([1, 1]).cast(pa.decimal128(22, 2))})

    assert len(set(shared_codes([keys], ["d"], ["log"])[0].tolist())) == 1
    assert len(set(shared_codes([keys], ["d", "b", "m"], ["log"])[0].tolist())) == 2


def test_a_dictionary_with_nulls_inside_is_read_by_value() -> None:
    """However text is stored, null is null."""
    stored = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["x", None]))

    plain = pa.array(["x", None, None, "x"])

    found, same = shared_codes([pa.table({"k": stored}), pa.table({"k": plain})], ["k"], ["labels", "log"])

    assert found.tolist() == same.tolist()
    assert (found == NULL_KEY).tolist() == [False, True, True, False]


def test_missing_and_different_columns_are_named() -> None:
    """With the side they are on."""
    with pytest.raises(SchemaError, match=r"log\.k"):
        shared_codes([pa.table({"k": ["x"]}), pa.table({"j": ["x"]})], ["k"], ["labels", "log"])
    with pytest.raises(SchemaError, match="string in labels and binary in log"):
        shared_codes([pa.table({"k": ["x"]}), pa.table({"k": [b"x"]})], ["k"], ["labels", "log"])
