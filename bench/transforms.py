"""What our machinery costs beside the bare functions: transforms, an unchanged re-run, and replay.

    PYTHONPATH=include:. python bench/transforms.py [overhead] [unchanged] [replay] [--rows 10000000]

Run by hand on a quiet machine. CPU seconds of this process and its children are the figures to keep; wall clock is shown beside them.
Overhead is our CPU seconds over those of a plain loop of the same function over the same bytes in memory, less one, on one core: fetch,
checks, hashes, Parquet, upload and reading back are all in it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, IndexEntry, Manifest, ShardEntry
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import published
from headrace.manifests.run import RunIdentity
from headrace.shards.compact import plan_partition, publish_partition
from headrace.shards.group import write_groups
from headrace.shards.index import FILE_ROWS, GROUP_ROWS
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.plan import batches
from headrace.shards.samples import position_ids
from headrace.shards.schema import schema_entries
from headrace.shards.write import ShardWriter, sha256_of
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
from headrace.spec.load import Declarations
from headrace.spec.transform import Step, Tensor, Transform, parameters
from headrace.transforms.replay.find import Wanted
from headrace.transforms.replay.replay import replay
from headrace.transforms.run import run_transform

DAY = "2013-01-01"
RUN = RunIdentity(dag="bench", run_id="bench", kind="local", partition_key=DAY)
SIZE = 64
FILES = Dataset(name="files", source=Source(prefix="in/%Y/%m/%d/", format=RawBytes()), timezone="UTC", start=date(2013, 1, 1))
DECODE = Step(
    name="decode",
    version="1",
    function="include.datasets.functions.images:decode",
    kind="bytes",
    columns=(
        Tensor(name="pixels", type="uint8", shape=(SIZE, SIZE, 3)),
        *columns(width="int64", height="int64", format="string"),
    ),
    parameters=parameters(size=SIZE),
    packages=("numpy", "pillow"),
)
TENSORS = Transform(name="tensors", dataset="files", steps=(DECODE,))


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Seconds of wall clock and of CPU, children included."""

    wall: float
    cpu: float


def spent(work: Callable[[], Any]) -> Spent:
    def cpu() -> float:
        return sum(
            usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )

    before, began = cpu(), time.perf_counter()
    work()
    return Spent(wall=time.perf_counter() - began, cpu=cpu() - before)


def picture(kind: str, side: int, seed: int) -> bytes:
    """A picture with structure and noise, so that it is as hard to decode as a photograph."""
    from PIL import Image

    noise = np.random.default_rng(seed)
    small = noise.integers(0, 255, (max(side // 8, 2), max(side // 8, 2), 3), dtype=np.uint8)
    grown = np.asarray(Image.fromarray(small).resize((side, side), Image.Resampling.BICUBIC), dtype=np.int16)
    pixels = np.clip(grown + noise.integers(-12, 12, grown.shape), 0, 255).astype(np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return sink.getvalue()


def overhead() -> None:
    for label, side, count in (("2 kB", 44, 12_000), ("2 MB", 1_720, 60)):
        payloads = [picture("JPEG", side, seed) for seed in range(min(count, 60))]
        landed = [payloads[number % len(payloads)] for number in range(count)]
        with tempfile.TemporaryDirectory() as folder:
            lake = compacted(Path(folder), landed)
            spent(partial(loop, payloads))  # warm
            bare = min((spent(partial(loop, landed)) for _ in range(3)), key=lambda one: one.cpu)
            names = [f"tensors{number}" for number in range(3)]  # a name of its own finds no results
            rounds = [spent(partial(run_transform, replace(TENSORS, name=one), DAY, RUN, lake=lake, cores=1)) for one in names]
            ours = min(rounds, key=lambda one: one.cpu)
            size = sum(map(len, landed)) / count
            print(
                f"overhead, {label} ({size / 1000:.1f} kB, {count} samples): bare {bare.cpu:.2f} s CPU "
                f"({bare.cpu / count * 1e6:.0f} us a sample), ours {ours.cpu:.2f} s: {ours.cpu / bare.cpu - 1:+.1%} "
                f"({(ours.cpu - bare.cpu) / count * 1e6:.0f} us a sample; wall {bare.wall:.1f} s, {ours.wall:.1f} s)"
            )


def loop(payloads: list[bytes]) -> None:
    from include.datasets.functions.images import decode

    for payload in payloads:
        decode(payload, size=SIZE)


def compacted(folder: Path, payloads: list[bytes]) -> LocalStore:
    landing, lake = LocalStore(folder / "landing"), LocalStore(folder / "lake")
    for number, payload in enumerate(payloads):
        landing.put_new(f"in/2013/01/01/{number:06d}", payload)
    plan = plan_partition(FILES, DAY, source=landing, lake=lake)
    for batch in batches(plan):
        list(write_groups(FILES, plan, batch, source=landing, lake=lake))
    publish_partition(FILES, plan, RUN, lake=lake)
    return lake


def unchanged(count: int = 1_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = LocalStore(Path(folder) / "lake")
        step = replace(DECODE, function="bench.transforms:size_of", packages=(), parameters=(), columns=columns(size="int64"))
        made = replace(TENSORS, steps=(step,))
        publish_shards(lake, Path(folder), [b"%d" % number for number in range(count)])
        first = spent(lambda: run_transform(made, DAY, RUN, lake=lake, cores=1))
        again = spent(lambda: run_transform(made, DAY, RUN, lake=lake, cores=1))
        publish_shards(lake, Path(folder), [b"changed", *(b"%d" % number for number in range(1, count))])
        one = spent(lambda: run_transform(made, DAY, RUN, lake=lake, cores=1))
        for label, took in (("first run", first), ("unchanged", again), ("one shard changed", one)):
            print(f"{count} shards, {label}: {took.wall:.2f} s wall, {took.cpu:.2f} s CPU")


def size_of(payload: bytes) -> dict[str, int]:
    return {"size": len(payload)}


def publish_shards(lake: LocalStore, folder: Path, payloads: list[bytes]) -> None:
    """A release of one sample a shard, written without a source."""
    shards = [one_row_shard(lake, folder, f"in/{number:06d}", payload) for number, payload in enumerate(payloads)]
    manifest = Manifest(
        dataset="files",
        partition=DAY,
        shards=tuple(shards),
        index=(),
        schema=schema_entries(rows_of([("k", b"")]).schema),
        counts=Counts(listed=len(shards), read=len(shards), skipped={}, quarantined={}, samples=len(shards)),
        inventory_digest=sha256_of(b"".join(payloads)),
        declaration_digest="bench",
    )
    identity = RUN.document()
    promote(lake, "files", {DAY: write_candidate(lake, manifest, identity)}, identity)


def rows_of(samples: list[tuple[str, bytes]]) -> pa.Table:
    return pa.table(
        {
            "sample_id": [position_ids(key, 1)[0] for key, _ in samples],
            "source_key": [key for key, _ in samples],
            "source_etag": ["e"] * len(samples),
            "source_row": pa.array([0] * len(samples), pa.int64()),
            "sample_digest": [hashlib.sha256(payload).hexdigest()[:32] for _, payload in samples],
            "payload": pa.array([payload for _, payload in samples], pa.large_binary()),
        }
    )


def one_row_shard(lake: LocalStore, folder: Path, key: str, payload: bytes) -> ShardEntry:
    rows = rows_of([(key, payload)])
    writer = ShardWriter(folder, rows.schema, ParquetStyle(), limit_bytes=10**8, row_group_bytes=4 * 10**6)
    (shard,) = [*writer.add(rows), *writer.finish()]
    if lake.head(layout.shard("files", shard.sha256)) is None:
        lake.put_file(layout.shard("files", shard.sha256), shard.path)
    return ShardEntry(
        sha256=shard.sha256,
        size_bytes=shard.size_bytes,
        rows=1,
        row_groups=1,
        first_sample_id=shard.first_sample_id,
        last_sample_id=shard.last_sample_id,
    )


class Counting:
    """A store that counts what is read of it."""

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self.objects: set[str] = set()
        self.requests = 0
        self.bytes_read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: str, **kwargs: Any) -> Any:
        body = self._store.get(key, **kwargs)
        return self._count(key, len(body.data), body)

    def get_range(self, key: str, start: int, end: int, **kwargs: Any) -> bytes:
        data = self._store.get_range(key, start, end, **kwargs)
        self._count(key, len(data), data)
        return data

    def _count(self, key: str, size: int, answer: Any) -> Any:
        self.objects.add(key)
        self.requests += 1
        self.bytes_read += size
        return answer


def replay_one(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        landing, lake = LocalStore(Path(folder) / "landing"), LocalStore(Path(folder) / "lake")
        payload = b"the one that is looked for" * 1000
        landing.put_new("in/one", payload)
        publish_large_index(lake, Path(folder), rows, payload, landing)
        declared = Declarations(datasets=(FILES,), transforms=(), views=(), training_sets=(), failures={})
        sample_id = position_ids("in/one", 1)[0]
        release = published(lake, "files")
        for label in ("first", "after start-up"):
            counting = Counting(lake)
            wanted = Wanted(sample_id=sample_id)
            took = spent(partial(replay, release, wanted, declared, lake=counting, source=landing))
            print(
                f"replay among {rows:,} ({label}): {took.cpu * 1000:.0f} ms CPU, {took.wall * 1000:.0f} ms wall, "
                f"{len(counting.objects)} objects of the lake in {counting.requests} requests, {counting.bytes_read / 1e6:.2f} MB"
            )
            print("   " + ", ".join(sorted({key.split("/")[1] for key in counting.objects})) + "; and the source object")


def publish_large_index(lake: LocalStore, folder: Path, rows: int, payload: bytes, landing: LocalStore) -> None:
    """One real shard, and an index of `rows` samples in which its sample stands."""
    info = landing.head("in/one")
    table = rows_of([("in/one", payload)]).set_column(2, "source_etag", [[info.etag if info is not None else ""]])
    writer = ShardWriter(folder, table.schema, ParquetStyle(), limit_bytes=10**8, row_group_bytes=4 * 10**6)
    (shard,) = [*writer.add(table), *writer.finish()]
    lake.put_file(layout.shard("files", shard.sha256), shard.path)
    own = shard.index.append_column("shard", pa.array([shard.sha256]))
    entry = ShardEntry(
        sha256=shard.sha256, size_bytes=shard.size_bytes, rows=1, row_groups=1,
        first_sample_id=shard.first_sample_id, last_sample_id=shard.last_sample_id,
    )  # fmt: skip
    manifest = Manifest(
        dataset="files",
        partition=DAY,
        shards=(entry,),
        index=tuple(index_files(lake, folder, rows, own)),
        schema=schema_entries(table.schema),
        counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=1),
        inventory_digest="bench",
        declaration_digest="bench",
    )
    identity = RUN.document()
    promote(lake, "files", {DAY: write_candidate(lake, manifest, identity)}, identity)


def index_files(lake: LocalStore, folder: Path, rows: int, own: pa.Table) -> Iterator[IndexEntry]:
    """The index in files of equal ranges of the ID, as publication cuts it."""
    noise, count = np.random.default_rng(1), -(-rows // FILE_ROWS)
    (target,) = own.column("sample_id").to_pylist()
    for number in range(count):
        low, high = number * 2**32 // count, (number + 1) * 2**32 // count
        size = rows // count
        prefix = noise.integers(low, high, size, dtype=np.int64)
        ids = np.char.add(np.array([f"{one:08x}" for one in prefix]), np.array([f"{n:024x}" for n in range(size)]))
        ids.sort()
        table = pa.table(
            {
                "sample_id": ids,
                "source_key": pa.array([f"in/{n:09d}" for n in range(size)]),
                "source_row": pa.array(np.zeros(size, np.int64)),
                "sample_digest": ids,
                "row_group": pa.array(np.zeros(size, np.int32)),
                "row": pa.array(np.arange(size)),
                "shard": pa.repeat(own.column("shard")[0], size),
            }
        )
        if low <= int(target[:8], 16) < high:
            table = pa.concat_tables([table, own.cast(table.schema)]).sort_by("sample_id")
        path = folder / "index.parquet"
        sha256 = write_parquet(path, table, ParquetStyle(), group_rows=GROUP_ROWS)
        lake.put_file(layout.index("files", sha256), path)
        found = table.column("sample_id")
        yield IndexEntry(
            sha256=sha256,
            size_bytes=path.stat().st_size,
            rows=table.num_rows,
            first_sample_id=found[0].as_py(),
            last_sample_id=found[-1].as_py(),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["overhead", "unchanged", "replay"])
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parser.parse_args()
    if "overhead" in options.what:
        overhead()
    if "unchanged" in options.what:
        unchanged()
    if "replay" in options.what:
        replay_one(options.rows)


if __name__ == "__main__":
    from bench.transforms import main as run  # by its own name: code of a script cannot be identified, of a module it can

    run()
