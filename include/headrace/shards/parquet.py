"""Parquet bytes that are a function of the rows: fixed writer options, no clock, no threads' order.

Row groups are about 4 MB so that one random sample costs one small read; page checksums are on; payloads have neither dictionary nor
statistics; text and tables are zstd, media is left as it is. The bytes also depend on the pyarrow version, which the
manifest records. The file is hashed while it is written, so that nobody reads it again for that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

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
        self._file = _HashedFile(path)
        self._writer = pq.ParquetWriter(self._file, schema, **_options(schema, style))  # type: ignore[arg-type] # as much of a file as Arrow needs

    @property
    def bytes_written(self) -> int:
        return self._file.size_bytes

    @property
    def sha256(self) -> str:
        return self._file.digest.hexdigest()

    def add_row_group(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        self.rows += rows.num_rows
        self.row_groups += 1

    def close(self) -> None:
        self._writer.close()
        self._file.close()


def write_parquet(path: Path, rows: pa.Table, style: ParquetStyle, *, group_rows: int = MAX_GROUP_ROWS) -> str:
    """A whole small table at once, in row groups of `group_rows`. Returns the file's SHA-256 in hex."""
    file = ParquetFile(path, rows.schema, style)
    for start in range(0, rows.num_rows, group_rows):
        file.add_row_group(rows.slice(start, group_rows))
    file.close()
    return file.sha256


class _HashedFile:
    """A local file that knows the hash and number of its bytes; written once from start to end."""

    def __init__(self, path: Path) -> None:
        self.digest = hashlib.sha256()
        self.size_bytes = 0
        self.closed = False
        self._file = path.open("wb", buffering=1 << 20)

    def write(self, data: Any) -> int:
        self._file.write(data)
        self.digest.update(data)
        size = memoryview(data).nbytes
        self.size_bytes += size
        return size

    def tell(self) -> int:
        return self.size_bytes

    def flush(self) -> None:
        self._file.flush()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
        self._file.close()


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
