"""What batch functions may return: exactly the declared columns, of exactly their types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.spec.columns import columns
from headrace.spec.transform import Tensor
from headrace.transforms.errors import OutputRefused
from headrace.transforms.output import checked_batch
from headrace.transforms.tensors import arrays_of, tensor_column
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.headrace.transforms.build import step


@given(
    hnp.arrays(dtype=st.sampled_from(["uint8", "int32", "float64"]), shape=st.tuples(st.integers(0, 4), st.just(2), st.just(3)))
)
def test_a_tensor_column_gives_its_arrays_back(arrays: Any) -> None:
    """Also where the column is a slice of a longer one."""
    column = tensor_column(np.concatenate([arrays[:1] if len(arrays) else np.zeros((1, 2, 3), arrays.dtype), arrays]))

    assert arrays_of(column.slice(1), arrays.dtype.name, (2, 3)).tobytes() == arrays.tobytes()


BATCH = step(kind="batch", columns=(*columns(n="int64"), Tensor(name="t", type="uint8", shape=(2,))))
NUMBERS, PAIRS = pa.array([1, 2], pa.int64()), tensor_column(np.array([[1, 2], [3, 4]], np.uint8))


@pytest.mark.parametrize(
    "tensors",
    [
        PAIRS,
        pa.array([b"\1\2", b"\3\4"], pa.binary()),
        pa.FixedShapeTensorArray.from_numpy_ndarray(np.array([[1, 2], [3, 4]], np.uint8)),
    ],
)
def test_a_batch_may_hold_tensors_in_several_forms(tensors: Any) -> None:
    """Bytes of the right length, or Arrow's own tensors."""
    table, origin = checked_batch(BATCH, pa.table({"t": tensors, "n": NUMBERS}), 2)

    assert table.to_pylist() == [{"n": 1, "t": b"\1\2"}, {"n": 2, "t": b"\3\4"}]
    assert origin.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (pa.table({"n": NUMBERS}), "columns n"),
        (pa.table({"n": NUMBERS.cast(pa.int32()), "t": PAIRS}), "column n of type int32"),
        (pa.table({"n": NUMBERS, "t": pa.array([b"\1\2", b"\3"], pa.binary())}), "column t: 1 bytes"),
        (pa.table({"n": NUMBERS, "t": pa.array([b"\1\2", None], pa.binary())}), "column t of type"),
        (pa.table({"n": NUMBERS.slice(1), "t": PAIRS.slice(1)}), "1 rows for 2"),
        ([1], "a list"),
    ],
)
def test_a_batch_that_is_not_as_declared_is_refused(table: Any, says: str) -> None:
    """With the column and what was found."""
    with pytest.raises(OutputRefused, match=says):
        checked_batch(BATCH, table, 2)


@pytest.mark.parametrize(
    ("gives", "rows", "right"),
    [
        ("filter", [0, 2], True),
        ("filter", [], True),
        ("filter", [1, 1], False),
        ("many", [0, 0, 2], True),
        ("many", [2, 1], False),
        ("many", [0, 3], False),
        ("many", [-1], False),
    ],
)
def test_the_input_row_says_where_each_row_came_from(gives: Any, rows: list[int], right: bool) -> None:
    """In order, in range, and once where it is a filter."""
    made = step(kind="batch", gives=gives, columns=columns(n="int64"))
    table = pa.table({"n": pa.array(rows, pa.int64()), "input_row": pa.array(rows, pa.int64())})

    if right:
        assert checked_batch(made, table, 3)[1].tolist() == rows
    else:
        with pytest.raises(OutputRefused, match="input_row"):
            checked_batch(made, table, 3)
