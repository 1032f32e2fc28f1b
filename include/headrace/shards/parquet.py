"""Parquet bytes that are a function of the rows: fixed writer options, no clock, no threads' order.

Row groups are about 4 MB so that one random sample costs one small read; page checksums are on; payloads have neither dictionary nor
statistics; text and tables are zstd, media is left as it is. The bytes also depend on the pyarrow version, which the
manifest records. Arrow writes to the file itself and the hash is taken from the system's cache of it: a file object of Python's between
them cost three more copies of every byte.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.shards.files import sha256_of_file

MAX_GROUP_ROWS: Final = 16_384
_PLAIN: Final = {"sample_id", "sample_digest"}


@dataclass(frozen=True, kw_only=True)
class ParquetStyle:
    """How rows become bytes.

    Attributes:
        compress: zstd for large values too; False for media.
        large: columns of large values, which have neither dictionary nor statistics.
    """

    compress: bool = True
    large: frozenset[str] = frozenset({"payload"})


class ParquetFile:
    """One Parquet file being written to local disk; `bytes_written` is exact after each row group, `sha256` after `close`."""

    def __init__(self, path: Path, schema: pa.Schema, style: ParquetStyle) -> None:
        self.path = path
        self.rows = 0
        self.row_groups = 0
        self.bytes_written = 0
        self.sha256 = ""
        self._file = pa.OSFile(str(path), "wb")
        try:
            self._writer = pq.ParquetWriter(self._file, schema, **_options(schema, style))
        except BaseException:
            self._file.close()
            path.unlink()
            raise

    def add_row_group(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        self.rows += rows.num_rows
        self.row_groups += 1
        self.bytes_written = self._file.tell()

    def close(self) -> None:
        """Write the footer: the file is whole."""
        self._writer.close()
        self.bytes_written = self._file.tell()
        self._file.close()
        self.sha256 = sha256_of_file(self.path)

    def abandon(self) -> None:
        """Drop what is written: no footer, no open file, nothing left on disk."""
        self._file.close()
        with contextlib.suppress(pa.ArrowException, OSError, ValueError):  # the footer has nowhere to go
            self._writer.close()
        self._writer.is_open = False  # or Arrow would try once more, at an instant of its own
        self.path.unlink(missing_ok=True)


def write_parquet(path: Path, rows: pa.Table, style: ParquetStyle, *, group_rows: int = MAX_GROUP_ROWS) -> str:
    """A whole small table at once, in row groups of `group_rows`. Returns the file's SHA-256 in hex."""
    return write_tables(path, [rows], rows.schema, style, group_rows=group_rows)


def write_tables(
    path: Path, tables: Iterable[pa.Table], schema: pa.Schema, style: ParquetStyle, *, group_rows: int = MAX_GROUP_ROWS
) -> str:
    """Tables one after another in one file, each in row groups of `group_rows`. Returns the file's SHA-256 in hex."""
    file = ParquetFile(path, schema, style)
    try:
        for rows in tables:
            for start in range(0, rows.num_rows, group_rows):
                file.add_row_group(rows.slice(start, group_rows))
        file.close()
    except BaseException:
        file.abandon()
        raise
    return file.sha256


def _options(schema: pa.Schema, style: ParquetStyle) -> dict[str, Any]:
    names: list[str] = schema.names
    packed = [name for name in names if style.compress or name not in style.large]
    return {
        "version": "2.6",
        "compression": {name: "zstd" if name in packed else "none" for name in names},
        "compression_level": dict.fromkeys(packed, 1),
        "use_dictionary": [name for name in names if name not in _PLAIN | style.large],
        "write_statistics": [name for name in names if name not in style.large],
        "write_page_checksum": True,
        "data_page_version": "1.0",
        "store_schema": True,
    }
