"""From one source object's bytes to its samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from headrace.lake.store import Buffer
from headrace.sources.csv import decode_csv
from headrace.sources.jsonlines import decode_json_lines
from headrace.sources.parquet import decode_parquet
from headrace.sources.types import arrow_schema
from headrace.sources.unpack import Member, unpack
from headrace.spec.dataset import Source
from headrace.spec.formats import Csv, JsonLines, Parquet, RawBytes, declared_columns

PAYLOAD: pa.Schema = pa.schema([pa.field("payload", pa.large_binary(), nullable=False)])


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """An object's samples. Raw bytes stay `payloads`; rows of tables are `tables`, each with the member it came from.

    `members_skipped` counts, by reason, what an archive held besides samples.
    """

    payloads: tuple[Member, ...] = ()
    tables: tuple[tuple[str | None, pa.Table], ...] = ()
    members_skipped: dict[str, int]


def declared_schema(source: Source) -> pa.Schema | None:
    """The samples' own columns as declared, None when they are unified over the partition's objects."""
    if isinstance(source.format, RawBytes):
        return PAYLOAD
    columns = declared_columns(source.format)
    return arrow_schema(columns) if columns else None


def decode(key: str, data: Buffer, source: Source, schema: pa.Schema) -> Decoded:
    """The object's samples in source order.

    Args:
        key: the object, named in errors.
        schema: the samples' columns, declared or unified.

    Raises:
        ObjectRefused: the object is not what the declaration says; all of it is refused.
    """
    unpacked = unpack(key, data, source.unpack, source.max_unpacked_bytes)
    if isinstance(source.format, RawBytes):
        return Decoded(payloads=unpacked.members, members_skipped=unpacked.skipped)
    reader = _reader(source, schema)
    tables = tuple((member.name, reader(_where(key, member), member.data)) for member in unpacked.members)
    return Decoded(tables=tables, members_skipped=unpacked.skipped)


def _reader(source: Source, schema: pa.Schema) -> Callable[[str, Buffer], pa.Table]:
    form = source.format
    if isinstance(form, Csv):
        return lambda where, data: decode_csv(where, data, form)
    if isinstance(form, JsonLines):
        return lambda where, data: decode_json_lines(where, data, form)
    exact = isinstance(form, Parquet) and form.columns is not None
    limit = source.max_unpacked_bytes
    return lambda where, data: decode_parquet(where, data, schema, limit_bytes=limit, exact=exact)


def _where(key: str, member: Member) -> str:
    return key if member.name is None else f"{key} member {member.name}"
