"""What makes a row a sample: an ID that stays, and a digest of what it holds.

`sample_id` is the first 16 bytes of SHA-256 over the source key and the row number in the object (or over the declared key's values),
as hex: it does not change when the object is corrected in place. `sample_digest` is the same over the row's values, and does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headrace.sources.inventory import SourceObject

ID_BYTES: Final = 16
IDENTITY: Final[list[pa.Field[Any]]] = [
    pa.field("sample_id", pa.string(), nullable=False),
    pa.field("source_key", pa.string(), nullable=False),
    pa.field("source_etag", pa.string(), nullable=False),
    pa.field("source_row", pa.int64(), nullable=False),
    pa.field("sample_digest", pa.string(), nullable=False),
]


def with_identity(source: SourceObject, rows: pa.Table, key: tuple[str, ...] = ()) -> pa.Table:
    """The decoded rows of one object behind their identity columns.

    Args:
        source: the object the rows came from, with the ETag they were read under.
        rows: its samples in source order.
        key: columns that name a sample for ever; empty: the source key and row number do.
    """
    count = rows.num_rows
    ids = [_short(b"key\0" + value) for value in _encoded(rows.select(key))] if key else _position_ids(source.key, count)
    digests = [_short(value) for value in _encoded(rows)]
    identity: list[pa.Array[Any]] = [
        pa.array(ids, pa.string()),
        pa.repeat(source.key, count),
        pa.repeat(source.etag, count),
        pa.array(range(count), pa.int64()),
        pa.array(digests, pa.string()),
    ]
    return pa.Table.from_arrays(
        [*identity, *(column.combine_chunks() for column in rows.columns)], schema=shard_schema(rows.schema)
    )


def shard_schema(samples: pa.Schema) -> pa.Schema:
    """The identity columns, then the sample's own."""
    return pa.schema([*IDENTITY, *(samples.field(position) for position in range(len(samples)))])


def _position_ids(key: str, count: int) -> list[str]:
    start = hashlib.sha256(b"source\0" + key.encode(errors="surrogateescape") + b"\0")
    ids = []
    for row in range(count):
        one = start.copy()
        one.update(str(row).encode())
        ids.append(one.hexdigest()[: 2 * ID_BYTES])
    return ids


def _short(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()[: 2 * ID_BYTES]


def _encoded(rows: pa.Table) -> Iterator[bytes]:
    """One unambiguous byte string per row: each value behind its length, null apart from empty."""
    columns = [_as_bytes(column.combine_chunks()) for column in rows.columns]
    if len(columns) == 1 and columns[0] and rows.schema.names == ["payload"]:
        return iter(columns[0])
    return (b"".join(_framed(value) for value in row) for row in zip(*columns, strict=True))


def _framed(value: bytes | None) -> bytes:
    return b"n" if value is None else b"%d:" % len(value) + value


def _as_bytes(column: pa.Array[Any]) -> Sequence[Any]:
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column.to_pylist()
    if pa.types.is_floating(kind):
        # The bit pattern, so that no formatting of floats decides about equality.
        column = column.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    text = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
    return text.cast(pa.binary()).to_pylist()
