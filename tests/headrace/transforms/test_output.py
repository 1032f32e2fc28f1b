"""What functions may return: exactly the declared columns, of exactly their types."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.spec.columns import columns
from headrace.spec.transform import Step, Tensor
from headrace.transforms.errors import OutputRefused
from headrace.transforms.output import checked_batch, checked_row, columns_of
from headrace.transforms.tensors import arrays_of, tensor_column
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.headrace.transforms.build import step


def one(kind: str) -> Step:
    return step(columns=columns(x=kind))


NAIVE = dt.datetime.fromisoformat("2013-01-01T00:00:00")
UTC_NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
RIGHT: list[tuple[str, Any, Any]] = [
    ("int8", 127, 127),
    ("int64", np.int64(5), 5),
    ("float64", 0.5, 0.5),
    ("float32", np.float32(0.5), 0.5),
    ("bool", True, True),
    ("string", "00123", "00123"),
    ("binary", b"", b""),
    ("date", dt.date(2013, 1, 1), dt.date(2013, 1, 1)),
    ("timestamp[us, UTC]", UTC_NOON, UTC_NOON),
    ("timestamp[us]", NAIVE, NAIVE),
    ("decimal(18, 4)", decimal.Decimal("1.5"), decimal.Decimal("1.5000")),
    ("int64", None, None),
]
WRONG: list[tuple[str, Any]] = [
    ("int8", 128),
    ("int64", 1.0),
    ("int64", True),
    ("int64", "1"),
    ("float64", 1),
    ("float64", "1.0"),
    ("bool", 1),
    ("string", b"x"),
    ("string", 1),
    ("binary", "x"),
    ("date", NAIVE),
    ("timestamp[us, UTC]", NAIVE),
    ("timestamp[us]", UTC_NOON),
    ("decimal(18, 4)", decimal.Decimal("1.00001")),
    ("decimal(18, 4)", 1.5),
]


@pytest.mark.parametrize(("kind", "value", "stored"), RIGHT)
def test_a_value_of_its_columns_type_is_kept(kind: str, value: Any, stored: Any) -> None:
    """As it is."""
    table = columns_of(one(kind), [checked_row(one(kind), {"x": value})])

    assert table.column("x").to_pylist() == [stored]


@pytest.mark.parametrize(("kind", "value"), WRONG)
def test_a_value_of_another_type_is_refused(kind: str, value: Any) -> None:
    """Nothing is coerced in silence; the column is named."""
    with pytest.raises(OutputRefused, match="Step f: found column x"):
        checked_row(one(kind), {"x": value})


@pytest.mark.parametrize("row", [{"x": 1, "y": 2}, {}, {"y": 1}, [1], None])
def test_other_columns_are_refused(row: Any) -> None:
    """A missing one and an extra one."""
    with pytest.raises(OutputRefused):
        checked_row(one("int64"), row)


SQUARE = step(columns=(Tensor(name="x", type="float32", shape=(2, 3)),))
RAGGED = step(columns=(Tensor(name="x", type="int32", shape=(None, 2)),))


@pytest.mark.parametrize(
    ("made", "array"),
    [
        (SQUARE, np.zeros((3, 2), np.float32)),
        (SQUARE, np.zeros((2, 3), np.float64)),
        (SQUARE, [[0.0] * 3] * 2),
        (RAGGED, np.zeros((5, 3), np.int32)),
        (RAGGED, np.zeros(4, np.int32)),
    ],
)
def test_another_shape_or_type_of_tensor_is_refused(made: Step, array: Any) -> None:
    """Shape and type are the declaration's, exactly."""
    with pytest.raises(OutputRefused, match="column x"):
        checked_row(made, {"x": array})


def test_a_tensor_of_another_layout_is_stored_in_order() -> None:
    """Big-endian and transposed arrays come out as little-endian bytes in C order."""
    array = np.arange(6, dtype=">f4").reshape(3, 2).T

    (stored,) = columns_of(SQUARE, [checked_row(SQUARE, {"x": array})]).column("x").to_pylist()

    assert np.frombuffer(stored, "<f4").reshape(2, 3).tolist() == array.tolist()


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
