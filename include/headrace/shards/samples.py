"""What makes a row a sample: an ID that stays, and a digest of what it holds.

`sample_id` is the first 16 bytes of SHA-256 over the source key, the member and the row number (or over the declared key's values), as
hex: it does not change when the object is corrected in place. `sample_digest` is the same over the row's values, and does.
The byte strings that are hashed are spelled out in `docs/format.md`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.lake.store import Buffer
from headrace.sources.inventory import SourceObject, shown

ID_BYTES: Final = 16
_AT_ONCE: Final = 65_536
"""Rows whose values are Python objects at one time: each value is ten times as large as in Arrow."""
IDENTITY: Final[list[pa.Field[Any]]] = [
    pa.field("sample_id", pa.string(), nullable=False),
    pa.field("source_key", pa.string(), nullable=False),
    pa.field("source_etag", pa.string(), nullable=False),
    pa.field("source_row", pa.int64(), nullable=False),
    pa.field("sample_digest", pa.string(), nullable=False),
]
MEMBER: Final = pa.field("source_member", pa.string(), nullable=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """One raw sample: where it came from and its bytes."""

    source: SourceObject
    member: str | None
    data: Buffer


def shard_schema(samples: pa.Schema, *, archive: bool = False) -> pa.Schema:
    """The identity columns, for archives the member, then the sample's own columns."""
    own = [samples.field(position) for position in range(len(samples))]
    return pa.schema([*IDENTITY, *([MEMBER] if archive else []), *own])


def with_identity(source: SourceObject, rows: pa.Table, key: tuple[str, ...] = (), *, member: str | None = None) -> pa.Table:
    """The decoded rows of one object (or member) behind their identity columns.

    Args:
        source: the object the rows came from, with the ETag they were read under.
        rows: its samples in source order.
        key: columns that name a sample for ever; empty: the source key, member and row number do.
        member: the file of an archive they came from; rows count from 0 in each.
    """
    count = rows.num_rows
    ids = [_short(b"key\0" + value) for value in _encoded(rows.select(key))] if key else position_ids(source.key, count, member)
    identity: list[Any] = [
        pa.array(ids, pa.string()),
        pa.repeat(pa.scalar(shown(source.key)), count),
        pa.repeat(source.etag, count),
        pa.array(np.arange(count)),
        pa.array(digests_of(rows), pa.string()),
    ]
    if member is not None:
        identity.append(pa.repeat(pa.scalar(shown(member)), count))
    schema = shard_schema(rows.schema, archive=member is not None)
    return pa.Table.from_arrays([*identity, *rows.columns], schema=schema)


def payload_rows(payloads: Sequence[Payload], schema: pa.Schema) -> pa.Table:
    """Raw samples behind their identity columns; `source_row` is 0, for each is the only row of its object or member.

    One copy of the bytes is made: many samples become one Arrow array at once.
    """
    sizes = np.fromiter((len(one.data) for one in payloads), np.int64, len(payloads))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    joined = pa.py_buffer(b"".join([one.data for one in payloads]))
    columns: dict[str, Any] = {
        "sample_id": [position_ids(one.source.key, 1, one.member)[0] for one in payloads],
        "source_key": [shown(one.source.key) for one in payloads],
        "source_etag": [one.source.etag for one in payloads],
        "source_row": np.zeros(len(payloads), np.int64),
        "sample_digest": [_short(one.data) for one in payloads],
        "source_member": [shown(one.member or "") for one in payloads],
        "payload": pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(payloads), [None, pa.py_buffer(offsets.tobytes()), joined]
        ),
    }
    arrays = [columns[one.name] if one.name == "payload" else pa.array(columns[one.name], one.type) for one in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def digests_of(rows: pa.Table) -> list[str]:
    """The digest of each row's own values (without identity columns); of a raw sample, that of its bytes."""
    if rows.schema.names == ["payload"]:
        return [_short(value.as_buffer()) for chunk in rows.column("payload").chunks for value in chunk]
    return [_short(value) for value in _encoded(rows)]


def position_ids(key: str, count: int, member: str | None = None) -> list[str]:
    """Sample IDs of the first `count` rows of an object, or of one member of it."""
    name = key.encode(errors="surrogateescape")
    kind = b"source\0" + name if member is None else b"member\0" + name + b"\0" + member.encode(errors="surrogateescape")
    start = hashlib.sha256(kind + b"\0")
    ids = []
    for row in range(count):
        one = start.copy()
        one.update(str(row).encode())
        ids.append(one.hexdigest()[: 2 * ID_BYTES])
    return ids


def _short(value: Buffer) -> str:
    return hashlib.sha256(value).hexdigest()[: 2 * ID_BYTES]


def _encoded(rows: pa.Table) -> Iterator[bytes]:
    """One unambiguous byte string per row: each value behind its length, null apart from empty."""
    for start in range(0, rows.num_rows, _AT_ONCE):
        columns = [_as_bytes(column) for column in rows.slice(start, _AT_ONCE).columns]
        yield from (b"".join(_framed(value) for value in row) for row in zip(*columns, strict=True))


def _framed(value: bytes | None) -> bytes:
    return b"n" if value is None else b"%d:" % len(value) + value


def _as_bytes(column: Any) -> Any:
    kind: Any = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return column.to_pylist()
    if pa.types.is_nested(kind):
        return [None if value is None else _nested(value) for value in column.cast(_countable(kind)).to_pylist()]
    if pa.types.is_floating(kind):
        # The bit pattern, so that no formatting of floats decides about equality.
        bits: Any = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]
        column = pa.chunked_array([chunk.view(bits) for chunk in column.chunks], bits)
    elif pa.types.is_temporal(kind):
        column = column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    elif pa.types.is_fixed_size_binary(kind):
        return column.to_pylist()
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    text = column if is_text else pc.cast(column, pa.string())
    return text.cast(pa.large_binary()).to_pylist()


def _countable(kind: Any) -> pa.DataType:
    """A nested type with its times as integers, which JSON can hold exactly."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(n).name, _countable(kind.field(n).type)) for n in range(kind.num_fields)])
    if pa.types.is_fixed_size_list(kind):
        return _as_it_is(pa.list_(_countable(kind.value_type), kind.list_size))
    if pa.types.is_list(kind):
        return pa.list_(_countable(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_countable(kind.value_type))
    if pa.types.is_temporal(kind):
        return pa.int64() if kind.bit_width == 64 else pa.int32()
    return _as_it_is(kind)


def _as_it_is(kind: Any) -> pa.DataType:
    same: pa.DataType = kind
    return same


def _nested(value: Any) -> bytes:
    """Canonical JSON: fields in schema order; bytes as hex, decimals as texts, floats in their shortest exact form."""

    def other(one: Any) -> str:
        return one.hex() if isinstance(one, bytes) else str(one)

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=other).encode()
