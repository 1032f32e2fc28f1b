"""Rows in, finished shards out: local files of about the target size, hashed.

Memory holds one row group and the sample index of the group. A shard is closed when its written bytes reach the limit; a sample at or
above the limit has a shard of its own; one above 4 GiB is refused by name. A writer whose block ends early leaves no file: a shard is
handed over, and leaves the machine (`upload.py`), only when it is whole.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import numpy as np
import pyarrow as pa

from headrace.lake.store import Buffer
from headrace.shards.errors import SampleTooLarge
from headrace.shards.parquet import MAX_GROUP_ROWS, ParquetFile, ParquetStyle
from headrace.spec.dataset import HARD_CAP_BYTES

INDEXED: Final = ("sample_id", "source_key", "source_row", "source_member", "sample_digest")


@dataclass(frozen=True, kw_only=True)
class FinishedShard:
    """A whole shard on local disk and the index rows of its samples.

    `index` has the columns sample_id, source_key, source_row, (for archives) source_member, sample_digest, row_group, row
    (counted in the shard).
    """

    path: Path
    sha256: str
    size_bytes: int
    rows: int
    row_groups: int
    first_sample_id: str
    last_sample_id: str
    index: pa.Table


class ShardWriter:
    """Cuts a stream of rows into shards.

        with ShardWriter(...) as writer:
            finished = [*writer.add(rows), ..., *writer.finish()]

    Call `add` for each object in order, then `finish`; collect from both. What is not finished when the block ends is abandoned.
    """

    def __init__(self, folder: Path, schema: pa.Schema, style: ParquetStyle, *, limit_bytes: int, row_group_bytes: int) -> None:
        self._folder = folder
        self._schema = schema
        self._style = style
        self._limit_bytes = limit_bytes
        self._row_group_bytes = row_group_bytes
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._file: ParquetFile | None = None
        self._index: list[pa.Table] = []
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.abandon()

    def abandon(self) -> None:
        """Delete the shard that is open and forget what is pending. Nothing happens after `finish`."""
        file, self._file = self._file, None
        self._pending, self._index = [], []
        if file is not None:
            file.abandon()

    def add(self, rows: pa.Table) -> list[FinishedShard]:
        """Take one object's rows; return the shards that became full."""
        finished: list[FinishedShard] = []
        for piece in _pieces(rows, self._row_group_bytes):
            size = _payload_bytes(piece)
            if size >= self._limit_bytes:
                finished += self._alone(piece, size)
                continue
            self._pending.append(piece)
            self._pending_rows += piece.num_rows
            self._pending_bytes += size
            if self._pending_bytes >= self._row_group_bytes or self._pending_rows >= MAX_GROUP_ROWS:
                finished += self._flush()
        return finished

    def finish(self) -> list[FinishedShard]:
        """Close what is open."""
        return self._flush() + self._close()

    def _alone(self, sample: pa.Table, size: int) -> list[FinishedShard]:
        if size > HARD_CAP_BYTES:
            raise SampleTooLarge(
                str(sample.column("source_key")[0]),
                found=f"a sample of {size} bytes",
                expected=f"at most {HARD_CAP_BYTES} bytes (4 GiB)",
                remedy="Split the object at its source, or leave it out of the declaration's prefix.",
            )
        before = self._flush() + self._close()
        self._pending = [sample]
        return before + self._flush() + self._close()

    def _flush(self) -> list[FinishedShard]:
        if not self._pending:
            return []
        group = pa.concat_tables(self._pending)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        if self._file is None:
            self._file = ParquetFile(self._folder / f"{self._written:05d}.parquet", self._schema, self._style)
            self._written += 1
        self._index.append(rows_to_index(group, self._file.row_groups, self._file.rows))
        self._file.add_row_group(group)
        return self._close() if self._file.bytes_written >= self._limit_bytes - self._row_group_bytes // 2 else []

    def _close(self) -> list[FinishedShard]:
        if self._file is None:
            return []
        file, index = self._file, pa.concat_tables(self._index)
        file.close()
        self._file, self._index = None, []
        ids = index.column("sample_id")
        return [
            FinishedShard(
                path=file.path,
                sha256=file.sha256,
                size_bytes=file.bytes_written,
                rows=file.rows,
                row_groups=file.row_groups,
                first_sample_id=ids[0].as_py(),
                last_sample_id=ids[-1].as_py(),
                index=index,
            )
        ]


def sha256_of(data: Buffer) -> str:
    """Lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def _payload_bytes(rows: pa.Table) -> int:
    return max(int(rows.nbytes), 1)


def _pieces(rows: pa.Table, row_group_bytes: int) -> list[pa.Table]:
    """The rows in slices of about a quarter of a row group, at least one row each, so that groups come out near their target."""
    per_row = max(_payload_bytes(rows) // max(rows.num_rows, 1), 1)
    step = min(max(row_group_bytes // 4 // per_row, 1), MAX_GROUP_ROWS // 4)
    return [rows.slice(start, step) for start in range(0, rows.num_rows, step)]


def rows_to_index(group: pa.Table, row_group: int, first_row: int) -> pa.Table:
    """The index rows of one row group. `group`: its rows, with the identity columns at least; `first_row` counts in the shard."""
    count = group.num_rows
    rows = group.select([name for name in INDEXED if name in group.schema.names])
    rows = rows.append_column("row_group", pa.repeat(pa.scalar(row_group, pa.int32()), count))
    return rows.append_column("row", pa.array(np.arange(first_row, first_row + count)))
