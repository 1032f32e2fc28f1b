"""A point-in-time join that does not fit the machine: by buckets, one after another, in bounded memory.

    python -m bench.point_in_time_large --rows 200000000 --labels 20000000 --entities 1000000 --buckets 64

Log and labels lie in one file a bucket, by the hash of their entity, as a lake that is spread at write time holds them; each bucket is
joined alone; then the answers are put back into the labels' order. The data are those of `bench.point_in_time`, drawn bucket by bucket. The
answers are checked by scan on a sample of labels, and every label is counted. Peak memory is the process's own over all steps.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from headrace.features.as_of import AsOf, as_of
from headrace.features.buckets import bucket_column

from bench.point_in_time import log_and_labels

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


def write_buckets(arguments: argparse.Namespace, folder: Path) -> list[tuple[Path, Path]]:
    """Draw and store each bucket's log and labels; `value`, `seq` and `label_id` number them over all buckets. Paths of both."""
    entities = pa.table({"entity": np.arange(arguments.entities)})
    bucket = bucket_column(entities, HOW.entity, arguments.buckets)
    edges = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=arguments.buckets))])
    row_edges, label_edges = (edges * count // arguments.entities for count in (arguments.rows, arguments.labels))
    ids = np.random.default_rng(arguments.buckets).permutation(arguments.labels)
    paths = []
    for number in range(arguments.buckets):
        mine = pa.array(np.flatnonzero(bucket == number))
        (first, last), (begins, ends) = row_edges[number : number + 2].tolist(), label_edges[number : number + 2].tolist()
        log, labels = log_and_labels(last - first, ends - begins, len(mine), arguments.skew, seed=number)
        log = with_column(with_column(log, "seq", pc.add(log["seq"], first)), "value", pc.add(log["value"], first))
        labels = with_column(labels, "label_id", pa.array(np.sort(ids[begins:ends])))
        paths.append((folder / f"log-{number:05d}.parquet", folder / f"labels-{number:05d}.parquet"))
        for rows, path in zip((log, labels), paths[-1], strict=True):
            pq.write_table(with_column(rows, "entity", mine.take(rows["entity"])), path, compression="zstd", use_dictionary=False)
    return paths


def with_column(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, values)


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
    paths = write_buckets(arguments, folder)
    began = step("draw and store", began)
    dice, parts, wrong = np.random.default_rng(0), [], 0
    for number, (known_path, asked_path) in enumerate(paths):
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
