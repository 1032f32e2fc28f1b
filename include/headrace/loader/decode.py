"""From a shard's bytes to rows, a few megabytes at a time.

Parquet is decoded row group by row group into memory that is used again, because the pages of a fresh block of 100 MB cost several times
what decoding does. Page checksums are not looked at: the shard's SHA-256 has proved the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lake.store import Buffer
from headrace.loader.fetch import unreadable
from headrace.loader.release import Shard

PART_BYTES: Final = 4_000_000
_LARGE_BYTES: Final = 1 << 30
_LARGE: Final[dict[pa.DataType, pa.DataType]] = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def decoded(lake_uri: str, shard: Shard, data: Buffer, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows with `columns`, in order, all parts of one schema: one part at least, each of at least `PART_BYTES` but the last.

    Raises:
        ShardUnreadable: the bytes do not decode, or are not as many rows as the manifest says.
    """
    rows = 0
    try:
        for part in _parts(pq.ParquetFile(pa.BufferReader(data)), list(columns)):
            rows += part.num_rows
            yield part
    except (pa.ArrowException, OSError) as error:
        raise unreadable(lake_uri, shard, f"bytes that do not decode: {error}") from error
    if rows != shard.rows:
        raise unreadable(lake_uri, shard, f"{rows} rows")


def _parts(file: pq.ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    large = _large_columns(file)
    held = [file.schema_arrow.empty_table().select(columns)]
    for group in range(file.num_row_groups):
        held.append(file.read_row_group(group, columns=columns, use_threads=False).select(columns))
        if sum(table.nbytes for table in held) >= PART_BYTES:
            yield in_one_piece(pa.concat_tables(held), large)
            held = []
    if held:
        yield in_one_piece(pa.concat_tables(held), large)


def _large_columns(file: pq.ParquetFile) -> frozenset[str]:
    """Columns with a row group so large that its offsets need 64 bits; they get them in every part."""
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    chunks = (group.column(number) for group in groups for number in range(group.num_columns))
    return frozenset(chunk.path_in_schema for chunk in chunks if chunk.total_uncompressed_size > _LARGE_BYTES)


def in_one_piece(table: pa.Table, large: frozenset[str] = frozenset()) -> pa.RecordBatch:
    """One contiguous batch, dictionaries decoded, so that rows are taken by place; texts above 1 GiB, and those of `large` columns, get
    64-bit offsets.
    """
    columns: list[Any] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values: Any = column
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if (name in large or values.nbytes > _LARGE_BYTES) and values.type in _LARGE:
            values = values.cast(_LARGE[values.type])
        combined = values.combine_chunks()
        columns.append(combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined)
    return pa.RecordBatch.from_arrays(columns, names=table.column_names)
