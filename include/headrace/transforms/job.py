"""One piece of work: a row group of a shard on local disk in, its transformed rows on local disk out.

The unit that is dealt to cores. Row groups are about 4 MB, so memory stays bounded whatever the shard's size; rows travel between
processes through files that are mapped, never through a pipe.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.spec.transform import Transform
from headrace.transforms.chain import Failure, Loaded, finished_rows, run_chain
from headrace.transforms.fingerprint import Fingerprint


@dataclass(frozen=True, kw_only=True)
class Job:
    """Row group `row_group` of the Parquet file `shard`; its rows go to `output`, an Arrow file."""

    shard: str
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
        self._open: tuple[str, pq.ParquetFile] | None = None

    def run(self, job: Job) -> Done:
        """Do it. Raises only what is not a sample's fault."""
        began = time.perf_counter()
        samples = self._file(job.shard).read_row_group(job.row_group, use_threads=False)
        rows, failed = transform_rows(self._transform, self._steps, samples)
        write_rows(Path(job.output), rows)
        used = len(set(rows.column("parent_id" if self._transform.fans_out else "sample_id").to_pylist()))
        return Done(
            samples=samples.num_rows,
            rows=rows.num_rows,
            dropped=samples.num_rows - used - len(failed),
            failed=failed,
            seconds=time.perf_counter() - began,
        )

    def _file(self, shard: str) -> pq.ParquetFile:
        if self._open is None or self._open[0] != shard:
            file = pq.ParquetFile(shard, memory_map=True, page_checksum_verification=True)
            self._open = (shard, file)
        return self._open[1]


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


def read_rows(path: Path) -> pa.Table:
    """The inverse of `write_rows`; the rows lie in the mapped file, which may be unlinked."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


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
