"""One schema out of many, with no value changed in silence. Pure: types in, a type or a conflict out.

What is widened: integers among themselves, integers and floats to double (each value is checked when it is read), decimals, time units,
null to anything, missing columns and struct fields to null. What is refused: a text that would become a number, a boolean a number, a
date an instant, a zoneless instant a zoned one, signed and unsigned 64 bits, fixed lists of two lengths. Dictionaries are decoded,
zones become UTC (the source's zone is kept as the field's metadata), text and bytes become bytes (flagged in the metadata).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

ZONE: Final = b"headrace.source_zone"
FLAG: Final = b"headrace.flag"
MIXED: Final = b"text in some objects, bytes in others"
_UNITS: Final = ("s", "ms", "us", "ns")
_MAX_DIGITS: Final = 76


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Two types of one column that no schema holds. `path` names nested fields with dots."""

    path: str
    expected: pa.DataType
    found: pa.DataType


def unify_schemas(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The schema of all of them, in order of first appearance, every column nullable.

    One that conflicts with those before it, or repeats a name, takes no part: its object is refused when it is read.
    """
    fields: dict[str, pa.Field[Any]] = {}
    for schema in schemas:
        if repeated_names(schema) or conflicts(fields, schema):
            continue
        for one in schema:
            fields[one.name] = _merged(fields.get(one.name), one)
    return pa.schema(list(fields.values()))


def conflicts(base: dict[str, pa.Field[Any]] | pa.Schema, schema: pa.Schema) -> list[Conflict]:
    """What of `schema` does not go together with `base`; a column that only one of them has always does."""
    known = {one.name: one.type for one in base} if isinstance(base, pa.Schema) else {n: f.type for n, f in base.items()}
    found = []
    for one in schema:
        if one.name in known:
            path = _first_conflict(one.name, known[one.name], plain_type(one.type))
            if path is not None:
                found.append(path)
    return found


def repeated_names(schema: pa.Schema) -> list[str]:
    """Column names that stand more than once."""
    names = list(schema.names)
    return sorted({name for name in names if names.count(name) > 1})


def unify_types(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The narrowest type that holds every value of both plain types unchanged, None when there is none."""
    if a.equals(b) or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    for rule in (_numbers, _decimals, _times, _texts, _lists, _structs):
        found = rule(a, b)
        if found is not None:
            return found
    return None


def plain_type(kind: Any) -> pa.DataType:
    """The type without what only says how values are stored: dictionaries, views, zones other than UTC, extensions."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if pa.types.is_nested(kind):
        return _plain_nested(kind)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, tz="UTC")
    if pa.types.is_string_view(kind):
        return pa.string()
    return _as_it_is(pa.binary() if pa.types.is_binary_view(kind) else kind)


def _plain_nested(kind: Any) -> pa.DataType:
    if pa.types.is_fixed_size_list(kind):
        return _as_it_is(pa.list_(plain_type(kind.value_type), kind.list_size))
    if pa.types.is_large_list(kind):
        return pa.large_list(plain_type(kind.value_type))
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, plain_type(one.type)) for one in _fields(kind)])
    return _as_it_is(kind)


def _as_it_is(kind: Any) -> pa.DataType:
    same: pa.DataType = kind
    return same


def _merged(known: pa.Field[Any] | None, one: pa.Field[Any]) -> pa.Field[Any]:
    kind = plain_type(one.type)
    unified = kind if known is None else unify_types(known.type, kind)
    facts = dict((None if known is None else known.metadata) or {})
    if pa.types.is_timestamp(one.type) and one.type.tz not in {None, "UTC"}:
        facts.setdefault(ZONE, str(one.type.tz).encode())
    if known is not None and _mixes_text(known.type, kind):
        facts[FLAG] = MIXED
    return pa.field(one.name, kind if unified is None else unified, nullable=True, metadata=facts or None)


def _first_conflict(path: str, a: pa.DataType, b: pa.DataType) -> Conflict | None:
    if unify_types(a, b) is not None:
        return None
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        known = {one.name: one.type for one in _fields(a)}
        for one in _fields(b):
            inner = _first_conflict(f"{path}.{one.name}", known[one.name], one.type) if one.name in known else None
            if inner is not None:
                return inner
    return Conflict(path=path, expected=a, found=b)


def _numbers(a: Any, b: Any) -> pa.DataType | None:
    floats, integers = pa.types.is_floating, pa.types.is_integer
    if floats(a) and floats(b):
        return _as_it_is(a if a.bit_width > b.bit_width else b)
    if (floats(a) and integers(b)) or (integers(a) and floats(b)):
        return pa.float64()
    if not (integers(a) and integers(b)):
        return None
    signed = pa.types.is_signed_integer
    if signed(a) == signed(b):
        return _as_it_is(a if a.bit_width > b.bit_width else b)
    unsigned, other = (b, a) if signed(a) else (a, b)
    bits = max(2 * unsigned.bit_width, other.bit_width)
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits)


def _decimals(a: Any, b: Any) -> pa.DataType | None:
    if not (pa.types.is_decimal(a) and pa.types.is_decimal(b)):
        return None
    scale = max(a.scale, b.scale)
    digits = max(a.precision - a.scale, b.precision - b.scale) + scale
    if digits > _MAX_DIGITS:
        return None
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)


def _times(a: Any, b: Any) -> pa.DataType | None:
    if pa.types.is_timestamp(a) and pa.types.is_timestamp(b) and (a.tz is None) == (b.tz is None):
        return pa.timestamp(_finer(a.unit, b.unit), tz=a.tz)
    if pa.types.is_duration(a) and pa.types.is_duration(b):
        return pa.duration(_finer(a.unit, b.unit))
    return None


def _finer(a: str, b: str) -> Any:
    return max(a, b, key=_UNITS.index)


def _texts(a: Any, b: Any) -> pa.DataType | None:
    if not (_is_bytes(a) and _is_bytes(b)):
        return None
    large = any(pa.types.is_large_string(one) or pa.types.is_large_binary(one) for one in (a, b))
    if _is_text(a) and _is_text(b):
        return pa.large_string() if large else pa.string()
    return pa.large_binary() if large else pa.binary()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _mixes_text(a: pa.DataType, b: pa.DataType) -> bool:
    return _is_bytes(a) and _is_bytes(b) and _is_text(a) != _is_text(b)


def _lists(a: Any, b: Any) -> pa.DataType | None:
    fixed, large, plain = pa.types.is_fixed_size_list, pa.types.is_large_list, pa.types.is_list
    if not all(fixed(one) or large(one) or plain(one) for one in (a, b)) or fixed(a) != fixed(b):
        return None
    inner = unify_types(a.value_type, b.value_type)
    if inner is None:
        return None
    if fixed(a):
        return pa.list_(inner, a.list_size) if a.list_size == b.list_size else None
    return pa.large_list(inner) if large(a) or large(b) else pa.list_(inner)


def _structs(a: Any, b: Any) -> pa.DataType | None:
    if not (pa.types.is_struct(a) and pa.types.is_struct(b)):
        return None
    kinds: dict[str, pa.DataType] = {one.name: one.type for one in _fields(a)}
    for one in _fields(b):
        unified = unify_types(kinds[one.name], one.type) if one.name in kinds else one.type
        if unified is None:
            return None
        kinds[one.name] = unified
    return pa.struct([pa.field(name, kind) for name, kind in kinds.items()])


def _fields(kind: Any) -> list[pa.Field[Any]]:
    return [kind.field(position) for position in range(kind.num_fields)]
