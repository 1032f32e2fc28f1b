"""Which types features have, and which columns their functions can aggregate exactly."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.features.columns import Column, flags, nulls
from headrace.features.errors import RowsError, SchemaError, row_numbers
from headrace.spec.aggregates import Aggregate, Function
from headrace.spec.feature_view import FeatureView

_ARROW_TYPES: dict[str, pa.DataType] = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "date32": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def output_type(spec: Aggregate) -> pa.DataType:
    """The declared type of the output."""
    if spec.decimal is not None:
        return pa.decimal128(*spec.decimal)
    return _ARROW_TYPES[spec.dtype]


def feature_schema(view: FeatureView) -> pa.Schema:
    """The view's feature columns and their declared types, in order."""
    return pa.schema([(spec.output(days), output_type(spec)) for spec in view.aggregates for days in view.windows])


def check_values(spec: Aggregate, column: Column) -> None:
    """Refuse a column that the function cannot aggregate exactly, whole and before any window is cut."""
    kind = column.type
    if spec.function is Function.SHARE:
        fits, wanted = pa.types.is_boolean(kind), "bool"
    elif spec.function in (Function.SUM, Function.MEAN, Function.STDDEV):
        fits, wanted = _is_number(kind), "a number, a boolean or a decimal"
    else:
        fits, wanted = _is_plain(kind), "a plain type, of timestamps one with a zone,"
    if not fits:
        raise SchemaError(
            f"log.{spec.column}",
            found=str(kind),
            expected=f"{wanted} for {spec.function}",
            remedy="Cast it in the rows function.",
        )
    if pa.types.is_floating(kind):
        strange = np.flatnonzero(~flags(pc.is_finite(column)) & ~nulls(column))
        if strange.size > 0:
            raise RowsError(
                f"log.{spec.column}",
                found=f"NaN or infinity in {row_numbers(strange)}",
                expected="finite numbers, or null where there is none",
                remedy="Turn them into null in the rows function, or keep them out.",
            )


def _is_plain(kind: pa.DataType) -> bool:
    """Values that are equal or in order, and that mean the same everywhere: not lists, not "no type at all", not times without a zone."""
    naive = pa.types.is_timestamp(kind) and kind.tz is None
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or naive)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind))
