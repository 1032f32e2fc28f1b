"""What functions over bytes may return: a row of exactly the declared columns, of exactly their types."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
from typing import Any

import numpy as np
import pytest
from headrace.spec.columns import columns
from headrace.spec.transform import Step, Tensor
from headrace.transforms.errors import OutputRefused
from headrace.transforms.rows import columns_of, row_checker

from tests.headrace.transforms.build import step


def one(kind: str) -> Step:
    return step(columns=columns(x=kind))


NAIVE = dt.datetime.fromisoformat("2013-01-01T00:00:00")
UTC_NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
RIGHT: list[tuple[str, Any, Any]] = [
    ("int8", 127, 127),
    ("int8", -128, -128),
    ("int64", np.int64(5), 5),
    ("int16", np.uint64(7), 7),
    ("float64", 0.5, 0.5),
    ("float32", np.float32(0.5), 0.5),
    ("bool", True, True),
    ("string", "00123", "00123"),
    ("string", "caf\u00e9", "caf\u00e9"),
    ("string", np.str_("x"), "x"),
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
    ("string", "half a pair \udce9"),
    ("int64", 2**63),
    ("int32", -(2**31) - 1),
]


@pytest.mark.parametrize(("kind", "value", "stored"), RIGHT)
def test_a_value_of_its_columns_type_is_kept(kind: str, value: Any, stored: Any) -> None:
    """As it is."""
    table = columns_of(one(kind), [row_checker(one(kind))({"x": value})])

    assert table.column("x").to_pylist() == [stored]


@pytest.mark.parametrize(("kind", "value"), WRONG)
def test_a_value_of_another_type_is_refused(kind: str, value: Any) -> None:
    """Nothing is coerced in silence; the column is named."""
    with pytest.raises(OutputRefused, match="Step f: found column x"):
        row_checker(one(kind))({"x": value})


@pytest.mark.parametrize("row", [{"x": 1, "y": 2}, {}, {"y": 1}, [1], None])
def test_other_columns_are_refused(row: Any) -> None:
    """A missing one and an extra one."""
    with pytest.raises(OutputRefused):
        row_checker(one("int64"))(row)


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
        row_checker(made)({"x": array})


def test_a_tensor_of_another_layout_is_stored_in_order() -> None:
    """Big-endian and transposed arrays come out as little-endian bytes in C order."""
    array = np.arange(6, dtype=">f4").reshape(3, 2).T

    (stored,) = columns_of(SQUARE, [row_checker(SQUARE)({"x": array})]).column("x").to_pylist()

    assert np.frombuffer(stored, "<f4").reshape(2, 3).tolist() == array.tolist()


def test_an_array_that_is_filled_again_is_kept_as_it_was() -> None:
    """A function may use one array for every sample."""
    checked, array = row_checker(SQUARE), np.zeros((2, 3), np.float32)
    rows = []
    for value in (1, 2):
        array[:] = value
        rows.append(checked({"x": array}))

    found = [np.frombuffer(one, "<f4")[0] for one in columns_of(SQUARE, rows).column("x").to_pylist()]

    assert found == [1, 2]


def test_any_mapping_is_a_row_and_usual_and_unusual_values_stand_together() -> None:
    """Python's and numpy's numbers, and none, in one column."""
    checked = row_checker(one("int16"))

    rows = [checked(collections.ChainMap({"x": value})) for value in (1, np.int8(2), None)]

    assert columns_of(one("int16"), rows).column("x").to_pylist() == [1, 2, None]


def test_no_rows_are_an_empty_table_of_the_declared_columns() -> None:
    """Also of tensors."""
    assert columns_of(SQUARE, []).schema.field("x").metadata == {b"headrace.tensor": b"float32:2,3"}
    assert columns_of(RAGGED, []).num_rows == 0
