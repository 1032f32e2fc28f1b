"""One piece of work: a row group of a shard on local disk in, its transformed rows out.

The unit that is dealt to cores. Row groups are about 4 MB, so memory stays bounded whatever the shard's size; rows travel between
processes through files that are mapped, never through a pipe. Work done in the task's own process hands its rows on as they are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.spec.transform import Transform
from headrace.transforms.chain import Failure, Loaded, finished_rows, run_chain
from headrace.transforms.fingerprint import Fingerprint


@dataclass(frozen=True, kw_only=True)
class Job:
    """Row group `row_group` of a Parquet file; from another process its rows come through `output`, an Arrow file.

    `shard`: its path, or in the task's own process the bytes of it.
    """

    shard: str | pa.Buffer
    row_group: int
    output: str


@dataclass(frozen=True, kw_only=True)
class FailedSample:
    """A failure, and which sample it was."""

    sample_id: str
    source_key: str
    source_etag: str
    source_row: int
    step: str
    kind: str
    message: str
    traceback: str


@dataclass(frozen=True, kw_only=True)
class Done:
    """What became of a job: samples in, rows out, samples that became nothing without failing, and the time it took."""

    samples: int
    rows: int
    dropped: int
    failed: tuple[FailedSample, ...]
    seconds: float


class JobRunner:
    """Runs jobs in this process, with the shard of the last one kept open."""

    def __init__(self, transform: Transform, steps: Sequence[Loaded]) -> None:
        self._transform = transform
        self._steps = steps
        self._open: tuple[str | pa.Buffer, pq.ParquetFile] | None = None

    def run(self, job: Job) -> tuple[pa.Table, Done]:
        """Do it: the rows, and what is to be said of them. Raises only what is not a sample's fault."""
        began = time.perf_counter()
        samples = self._file(job.shard).read_row_group(job.row_group, use_threads=False)
        rows, failed = transform_rows(self._transform, self._steps, samples)
        used = int(pc.count_distinct(rows.column("parent_id" if self._transform.fans_out else "sample_id")).as_py())
        return rows, Done(
            samples=samples.num_rows,
            rows=rows.num_rows,
            dropped=samples.num_rows - used - len(failed),
            failed=failed,
            seconds=time.perf_counter() - began,
        )

    def run_apart(self, job: Job) -> Done:
        """The same for another process: the rows go to the job's file."""
        rows, done = self.run(job)
        write_rows(Path(job.output), rows)
        return done

    def _file(self, shard: str | pa.Buffer) -> pq.ParquetFile:
        if self._open is None or not _is_same(self._open[0], shard):
            self._open = None  # one shard in memory at a time
            # Without page checksums: the whole shard's SHA-256 was compared as it was fetched.
            self._open = (shard, pq.ParquetFile(opened(shard)))
        return self._open[1]


def _is_same(shard: str | pa.Buffer, other: str | pa.Buffer) -> bool:
    return shard is other or (isinstance(shard, str) and isinstance(other, str) and shard == other)


def opened(shard: str | pa.Buffer) -> pa.NativeFile:
    """The bytes of a job's shard, mapped where they lie in a file."""
    return pa.memory_map(shard) if isinstance(shard, str) else pa.BufferReader(shard)


def runner_of(transform: Transform, fingerprint: Fingerprint) -> JobRunner:
    """A runner of this code."""
    return JobRunner(transform, [(one.step, one.function) for one in fingerprint.steps])


def transform_rows(transform: Transform, steps: Sequence[Loaded], samples: pa.Table) -> tuple[pa.Table, tuple[FailedSample, ...]]:
    """Samples through the whole chain: the finished rows, and what failed."""
    state = None
    for after in run_chain(steps, samples):  # each state is dropped as the next one is made
        state = after
    if state is None:
        raise ValueError(f"transform {transform.name} has no steps")
    return finished_rows(transform, samples, state), tuple(_failed(samples, failure) for failure in state.failed)


def write_rows(path: Path, rows: pa.Table) -> None:
    """Rows to a local Arrow file."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


def take_rows(path: Path) -> pa.Table:
    """The inverse of `write_rows`. The file is unlinked; the mapping keeps its bytes as long as the rows are needed."""
    rows = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    path.unlink()
    return rows


def _failed(samples: pa.Table, failure: Failure) -> FailedSample:
    def of(name: str) -> Any:
        return samples.column(name)[failure.row].as_py()

    return FailedSample(
        sample_id=of("sample_id"),
        source_key=of("source_key"),
        source_etag=of("source_etag"),
        source_row=of("source_row"),
        step=failure.step,
        kind=failure.kind,
        message=failure.message,
        traceback=failure.traceback,
    )
