"""Parquet bytes that are a function of the rows: fixed writer options, no clock, no threads' order.

Row groups are about 4 MB so that one random sample costs one small read; page checksums are on; payloads have neither dictionary nor
statistics; text and tables are zstd, media is left as it is. The bytes also depend on the pyarrow version, which the
manifest records.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

MAX_GROUP_ROWS: Final = 16_384
_PLAIN: Final = {"sample_id", "sample_digest", "payload"}


@dataclass(frozen=True, kw_only=True)
class ParquetStyle:
    """How rows become bytes. `compress`: zstd where it helps; False for media."""

    compress: bool = True


class ParquetFile:
    """One Parquet file being written to local disk; `bytes_written` is exact after each row group."""

    def __init__(self, path: Path, schema: pa.Schema, style: ParquetStyle) -> None:
        self.path = path
        self.rows = 0
        self.row_groups = 0
        self._file = path.open("wb")
        self._writer = pq.ParquetWriter(self._file, schema, **_options(schema, style))

    @property
    def bytes_written(self) -> int:
        return self._file.tell()

    def add_row_group(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        self.rows += rows.num_rows
        self.row_groups += 1

    def close(self) -> None:
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Close without promise; the caller removes the folder."""
        self._file.close()


def write_parquet(path: Path, rows: pa.Table, style: ParquetStyle, *, group_rows: int = MAX_GROUP_ROWS) -> None:
    """A whole small table at once, in row groups of `group_rows`."""
    file = ParquetFile(path, rows.schema, style)
    for start in range(0, rows.num_rows, group_rows):
        file.add_row_group(rows.slice(start, group_rows))
    file.close()


def _options(schema: pa.Schema, style: ParquetStyle) -> dict[str, Any]:
    names: list[str] = schema.names
    return {
        "version": "2.6",
        "compression": "zstd" if style.compress else "none",
        "compression_level": 1 if style.compress else None,
        "use_dictionary": [name for name in names if name not in _PLAIN],
        "write_statistics": [name for name in names if name != "payload"],
        "write_page_checksum": True,
        "data_page_version": "1.0",
        "store_schema": True,
    }
