"""Schemas as they are stored: exact in a plan, readable in a manifest."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from headrace.manifests.manifest import ColumnEntry


def schema_to_hex(schema: pa.Schema) -> str:
    """The exact schema as text, for a plan."""
    return schema.serialize().to_pybytes().hex()


def schema_from_hex(text: str) -> pa.Schema:
    """The inverse of `schema_to_hex`."""
    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))


def schema_entries(schema: pa.Schema) -> tuple[ColumnEntry, ...]:
    """The shards' columns as a manifest lists them."""
    return tuple(ColumnEntry(name=entry.name, type=str(entry.type)) for entry in schema)


def empty_table(schema: tuple[ColumnEntry, ...], columns: list[str] | None) -> pa.Table:
    """No rows, with the columns a manifest lists."""
    fields = [pa.field(entry.name, _type_from(entry.type)) for entry in schema if columns is None or entry.name in columns]
    return pa.schema(fields).empty_table()


def _type_from(text: str) -> pa.DataType:
    if text.startswith("timestamp[us, tz="):
        return pa.timestamp("us", tz=text.removeprefix("timestamp[us, tz=").removesuffix("]"))
    if text.startswith("decimal128("):
        precision, scale = text.removeprefix("decimal128(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    alias: Callable[[str], pa.DataType] = pa.type_for_alias  # type: ignore[assignment] # the stubs list each alias as a literal
    return alias(text)
