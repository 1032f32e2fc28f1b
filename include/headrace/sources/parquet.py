"""Parquet sources: read with their page checksums, cast to the partition's one schema, nothing coerced in silence."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake.errors import ObjectChanged, ObjectMissing
from headrace.lake.store import Buffer, Store
from headrace.sources.errors import ObjectRefused
from headrace.sources.first_bad import first_bad
from headrace.sources.inventory import SourceObject
from headrace.sources.text_cast import FIX_SOURCE
from headrace.sources.unify import Conflict, conflicts, plain_type, repeated_names, unify_schemas, unify_types
from headrace.spec.columns import RESERVED

_TAIL_BYTES: Final = 64 * 1024
_FOOTERS_AT_ONCE: Final = 16
_END: Final = 8  # the footer's length in four bytes, then PAR1


def decode_parquet(where: str, data: Buffer, schema: pa.Schema, *, limit_bytes: int, exact: bool) -> pa.Table:
    """The rows with exactly the columns of `schema`.

    Args:
        where: the object (and member), named in errors.
        schema: declared, or unified over the partition.
        limit_bytes: what the table may take unpacked.
        exact: whether a column the object lacks refuses it (declared) or is null (unified).

    Raises:
        ObjectRefused: names the object, the column and both types, or the row whose value does not fit.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
            _check_size(where, file.metadata, limit_bytes)
            _check_columns(where, file.schema_arrow, schema, exact=exact)
            table = file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(where, str(error).splitlines()[0]) from error
    columns = [_column(where, table, one) for one in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def unified_schema(source: Store, objects: Sequence[SourceObject]) -> pa.Schema:
    """One schema over the objects' footers, in key order. Reads footers only; an unreadable one takes no part."""
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE, thread_name_prefix="headrace-footer") as pool:
        found = list(pool.map(lambda item: _footer(source, item), objects))
    return unify_schemas(schema for schema in found if schema is not None)


def _footer(source: Store, item: SourceObject) -> pa.Schema | None:
    """The object's schema, None when it is no longer the listed one or is no Parquet file: both are found again when it is read."""
    try:
        tail = source.get_range(item.key, max(item.size_bytes - _TAIL_BYTES, 0), item.size_bytes, etag=item.etag)
        length = int.from_bytes(tail[-_END:-4], "little") + _END
        if length > len(tail):
            tail = source.get_range(item.key, max(item.size_bytes - length, 0), item.size_bytes, etag=item.etag)
        return pq.read_schema(pa.BufferReader(tail))
    except (pa.ArrowException, OSError, ObjectChanged, ObjectMissing):
        return None


def _check_size(where: str, metadata: pq.FileMetaData, limit_bytes: int) -> None:
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if size > limit_bytes:
        raise ObjectRefused(
            where,
            kind="too large",
            found=f"{size} bytes uncompressed",
            expected=f"at most {limit_bytes} bytes unpacked",
            remedy="Raise Source.max_unpacked_bytes if this is real data: a task needs about that much memory.",
        )


def _check_columns(where: str, found: pa.Schema, schema: pa.Schema, *, exact: bool) -> None:
    lacking = [name for name in schema.names if name not in found.names] if exact else []
    extra = [name for name in found.names if name not in schema.names]
    reserved = [name for name in found.names if name in RESERVED]
    problems = (
        ("repeated column", repeated_names(found)),
        ("reserved column", reserved),
        ("missing column", lacking),
        ("undeclared column", extra if exact else []),
    )
    for kind, names in problems:
        if names:
            raise ObjectRefused(
                f"{where} schema",
                kind=kind,
                found=f"{kind} {', '.join(names)}",
                expected=", ".join(schema.names),
                remedy=FIX_SOURCE,
            )
    clash = conflicts(schema, found) or _wider(schema, found)
    if clash:
        first = clash[0]
        raise ObjectRefused(
            f"{where} column {first.path}",
            kind="conflicting type",
            found=str(first.found),
            expected=str(first.expected),
            remedy="Land the object again with that type, or declare the columns.",
        )


def _wider(schema: pa.Schema, found: pa.Schema) -> list[Conflict]:
    """Columns whose type is wider than the declared one: they would have to be narrowed."""
    wider = []
    for one in found:
        if one.name in schema.names:
            expected, kind = schema.field(one.name).type, plain_type(one.type)
            unified = unify_types(expected, kind)
            if unified is not None and not unified.equals(expected):
                wider.append(Conflict(path=one.name, expected=expected, found=kind))
    return wider


def _column(where: str, table: pa.Table, target: pa.Field[Any]) -> pa.ChunkedArray[Any]:
    if target.name not in table.schema.names:
        return pa.chunked_array([pa.nulls(table.num_rows, target.type)])
    column = table.column(target.name)
    try:
        return column.cast(target.type)
    except pa.ArrowInvalid as error:
        row = first_bad(column, target.type)
        raise ObjectRefused(
            f"{where} row {row} column {target.name}",
            kind="wrong type",
            found=f"{column[row].as_py()!r} ({column.type})",
            expected=f"a value that {target.type} holds exactly",
            remedy=FIX_SOURCE,
        ) from error


def _unreadable(where: str, found: str) -> ObjectRefused:
    return ObjectRefused(where, kind="unreadable Parquet", found=found, expected="a Parquet table", remedy=FIX_SOURCE)
