"""A point-in-time join that does not fit the machine: by buckets, one after another, in bounded memory.

    python -m bench.point_in_time_large --rows 200000000 --labels 20000000 --entities 1000000 --buckets 64

Log and labels come in pieces, as from a feed, and are written to one file a bucket by the hash of their entity; then each bucket is joined
alone; then the answers are put back into the labels' order. The data are those of `bench.point_in_time`, piece by piece. The answers are
checked by scan on a sample of labels, and every label is counted. Peak memory is the process's own over all steps.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from headrace.features.as_of import AsOf, as_of
from headrace.features.buckets import bucket_column

from bench.point_in_time import log_and_labels

PIECE = 8_000_000
"""Log rows generated at a time."""
WINDOW = 500_000
"""Labels put back into order at a time."""
HOW = AsOf(entity=("entity",), values=("value",))


@dataclass(frozen=True)
class Took:
    """One step: wall and processor seconds, and the process's peak memory and what lies on disk by its end."""

    step: str
    seconds: float
    cpu_seconds: float
    peak_gigabytes: float
    disk_gigabytes: float


class Buckets:
    """One Parquet file a bucket, written row group by row group."""

    def __init__(self, folder: Path, count: int) -> None:
        folder.mkdir()
        self.paths = [folder / f"{number:05d}.parquet" for number in range(count)]
        self._writers: dict[int, pq.ParquetWriter] = {}

    def add(self, rows: pa.Table) -> None:
        bucket = bucket_column(rows, HOW.entity, len(self.paths))
        order = np.argsort(bucket, kind="stable")
        ordered, edges = rows.take(pa.array(order)), np.searchsorted(bucket[order], np.arange(len(self.paths) + 1))
        for number, path in enumerate(self.paths):
            if number not in self._writers:
                self._writers[number] = pq.ParquetWriter(path, rows.schema, compression="zstd", use_dictionary=False)
            self._writers[number].write_table(ordered.slice(int(edges[number]), int(edges[number + 1] - edges[number])))

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


def pieces(arguments: argparse.Namespace) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Log rows and labels, piece by piece; `value`, `seq` and `label_id` number them over all pieces."""
    count = -(-arguments.rows // PIECE)
    for number in range(count):
        rows, labels = (share * (number + 1) // count - share * number // count for share in (arguments.rows, arguments.labels))
        first, asked = arguments.rows * number // count, arguments.labels * number // count
        log, table = log_and_labels(rows, labels, arguments.entities, arguments.skew, seed=number)
        for name in ("seq", "value"):
            log = log.set_column(log.schema.get_field_index(name), name, pc.add(log.column(name), first))
        yield log, table.set_column(0, "label_id", pc.add(table.column("label_id"), asked))


def join_bucket(log: Path, labels: Path, out: Path, dice: np.random.Generator) -> int:
    """Join one bucket and store `label_id, value`, in the labels' order; returns how many sampled labels were wrong."""
    known, asked = pq.read_table(log), pq.read_table(labels)
    found = as_of(asked, known, HOW).select(["label_id", "value"])
    pq.write_table(found, out, row_group_size=WINDOW // 4, compression="zstd", use_dictionary=False)
    return sum(
        scan(known, asked, row) != found.column("value")[row].as_py() for row in dice.integers(0, asked.num_rows, 3).tolist()
    )


def scan(log: pa.Table, labels: pa.Table, row: int) -> int | None:
    """The answer of one label from the definition."""
    label = labels.slice(row, 1).to_pylist()[0]
    mine = log.filter(pc.equal(log.column("entity"), label["entity"])).to_pylist()
    seen = [one for one in mine if one["event_time"] <= label["label_time"] and one["available_time"] <= label["label_time"]]
    best = max(seen, key=lambda one: (one["event_time"], one["available_time"], one["seq"]), default=None)
    return None if best is None else int(best["value"])


def in_order(parts: list[Path], labels: int) -> int:
    """Read all parts in step, window by window of label IDs; returns how many labels came out in their place."""
    files = [pq.ParquetFile(path) for path in parts]
    batches = [file.iter_batches(WINDOW // len(parts) + 1) for file in files]
    waiting: list[pa.Table | None] = [None] * len(parts)
    done = 0
    for begins in range(0, labels, WINDOW):
        ends = min(begins + WINDOW, labels)
        here = []
        for number, batch in enumerate(batches):
            rows = waiting[number]
            while rows is None or rows.num_rows == 0 or rows.column("label_id")[-1].as_py() < ends:
                more = next(batch, None)
                if more is None:
                    break
                table = pa.Table.from_batches([more])
                rows = table if rows is None else pa.concat_tables([rows, table])
            if rows is None:
                continue
            cut = int(np.searchsorted(np.asarray(rows.column("label_id")), ends))
            here.append(rows.slice(0, cut))
            waiting[number] = rows.slice(cut).combine_chunks()
        window = pa.concat_tables(here).sort_by("label_id")
        if not np.array_equal(np.asarray(window.column("label_id")), np.arange(begins, ends)):
            raise RuntimeError(f"labels {begins} to {ends} did not come back once each")
        done += window.num_rows
    return done


def run(arguments: argparse.Namespace, folder: Path) -> tuple[list[Took], int]:
    took: list[Took] = []

    def step(name: str, began: tuple[float, float]) -> tuple[float, float]:
        now = (time.perf_counter(), time.process_time())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        disk = sum(one.stat().st_size for one in folder.rglob("*.parquet")) / 1e9
        took.append(Took(name, now[0] - began[0], now[1] - began[1], peak, disk))
        told = f"{took[-1].seconds:8.1f} s  {took[-1].cpu_seconds:8.1f} cpu s  peak {peak:.2f} GB  disk {disk:.1f} GB"
        print(f"{name:28s} {told}", flush=True)
        return now

    began = (time.perf_counter(), time.process_time())
    log, labels = Buckets(folder / "log", arguments.buckets), Buckets(folder / "labels", arguments.buckets)
    for known, asked in pieces(arguments):
        log.add(known)
        labels.add(asked)
    log.close()
    labels.close()
    began = step("generate and bucket", began)
    dice, parts, wrong = np.random.default_rng(0), [], 0
    for number, (known_path, asked_path) in enumerate(zip(log.paths, labels.paths, strict=True)):
        parts.append(folder / f"part-{number:05d}.parquet")
        wrong += join_bucket(known_path, asked_path, parts[-1], dice)
    began = step("join, bucket by bucket", began)
    done = in_order(parts, arguments.labels)
    step("back in the labels' order", began)
    print(f"{done} labels in order; {wrong} of {3 * arguments.buckets} sampled labels differ from the scan")
    return took, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("rows", 200_000_000), ("labels", 20_000_000), ("entities", 1_000_000), ("buckets", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--skew", type=float, default=0.0, help="Zipf exponent; 0 is uniform")
    parser.add_argument("--folder", type=Path, help="where the buckets lie while it runs; else a temporary folder")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        took, wrong = run(arguments, Path(folder))
    if arguments.out is not None:
        settings = {name: value for name, value in vars(arguments).items() if name not in ("out", "folder")}
        document = {
            "settings": settings,
            "python": sys.version.split()[0],
            "steps": [asdict(one) for one in took],
            "wrong": wrong,
        }
        arguments.out.write_text(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
