"""From one source object's bytes to its samples."""

from __future__ import annotations

import pyarrow as pa

from headrace.sources.csv import decode_csv
from headrace.sources.types import arrow_schema
from headrace.spec.formats import Csv, Format


def decode(key: str, data: bytes, form: Format) -> pa.Table:
    """The object's samples in source order, one row each. Raises `ObjectRefused`."""
    if isinstance(form, Csv):
        return decode_csv(key, data, form)
    return pa.table({"payload": pa.array([data], pa.large_binary())})


def sample_schema(form: Format) -> pa.Schema:
    """The columns every object of this format decodes to."""
    if isinstance(form, Csv):
        return arrow_schema(form.columns)
    return pa.schema([pa.field("payload", pa.large_binary())])
