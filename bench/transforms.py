"""What our machinery costs beside the bare functions: transforms, an unchanged re-run, and replay.

    PYTHONPATH=include:. python bench/transforms.py [overhead] [unchanged] [replay] [--rows 10000000] [--days 100]

Run by hand on a quiet machine. CPU seconds of this process and its children are the figures to keep; wall clock is shown beside them.
Overhead is our CPU seconds over another's, less one, on one core. Ours: plan, fetch, checks, hashes, Parquet, upload, reading back,
index, manifest. The others:

- *script*: what a person writes without us for the same result on disk: open the same shard, call the function row by row, write a
  Parquet file of the same columns, compression and row groups straight into a folder. No ID, check, hash, index or quarantine.
- *loop*: the function over the same bytes in memory, its results dropped. It writes nothing, so what is not the function's own work
  counts against us whoever has to do it; with outputs larger than inputs it says more of the outputs than of us.

Rounds take turns (script, loop, ours), and the least of each is taken: on a shared machine the rest is the neighbours'. Each figure is
given for all CPU time and for that outside the kernel: a virtual machine that hands memory back to its host pays again and again for
fresh pages, whoever touches them, and that is most of the difference between the two.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Counts, IndexEntry, Manifest
from headrace.manifests.promote import promote, write_candidate
from headrace.manifests.read import published
from headrace.manifests.run import RunIdentity
from headrace.shards.index import GROUP_ROWS, range_count
from headrace.shards.lookup import write_lookup
from headrace.shards.parquet import ParquetStyle, write_parquet
from headrace.shards.samples import position_ids
from headrace.shards.schema import schema_entries
from headrace.shards.upload import entry_of
from headrace.shards.write import FinishedShard, ShardWriter, sha256_of
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
ROUNDS = 5
CASES = (("2 kB to 1.7 kB", 44, 24_000, 24), ("2 kB to 12 kB", 44, 12_000, 64), ("2 MB to 12 kB", 1_720, 240, 64))
"""For overhead: what becomes what, the sides of the pictures, how many (of the large, one task's batch), and the sides of the tensors."""

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
    """Seconds of wall clock, of CPU, and of CPU outside the kernel; children included."""

    wall: float
    cpu: float
    user: float


def spent(work: Callable[[], Any]) -> Spent:
    def cpu() -> tuple[float, float]:
        found = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime for one in found), sum(one.ru_stime for one in found)

    (user, system), began = cpu(), time.perf_counter()
    work()
    wall, (user_after, system_after) = time.perf_counter() - began, cpu()
    return Spent(wall=wall, cpu=user_after - user + system_after - system, user=user_after - user)


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
    for label, side, count, size in CASES:
        payloads = [picture("JPEG", side, seed) for seed in range(60)]
        landed = [payloads[number % len(payloads)] for number in range(count)]
        with tempfile.TemporaryDirectory() as folder:
            lake = LocalStore(Path(folder) / "lake")
            samples = [(f"in/{number:06d}", payload) for number, payload in enumerate(landed)]
            publish_shards(lake, written(Path(folder), samples))
            rounds: dict[str, list[Spent]] = {"script": [], "loop": [], "ours": []}
            for number in range(ROUNDS + 1):
                made = transform_to(size, f"tensors{number}")  # a name of its own finds no results
                one = {
                    "script": spent(partial(script, Path(folder), size)),
                    "loop": spent(partial(loop, landed, size)),
                    "ours": spent(partial(run_transform, made, DAY, RUN, lake=lake, cores=1)),
                }
                for name in rounds if number else ():  # the first only warms up
                    rounds[name].append(one[name])
            size_kb = sum(map(len, landed)) / count / 1000
            print(f"overhead, {label} ({count} samples of {size_kb:.1f} kB):")
            for part in ("cpu", "user"):
                micros = {name: min(getattr(one, part) for one in found) / count * 1e6 for name, found in rounds.items()}
                print(
                    f"   {part}: ours {micros['ours']:.0f} us a sample; script {micros['script']:.0f}: "
                    f"{micros['ours'] / micros['script'] - 1:+.1%}; loop {micros['loop']:.0f}: {micros['ours'] / micros['loop'] - 1:+.1%}"
                )


def transform_to(size: int, name: str) -> Transform:
    """Pictures to tensors of `size` x `size` pixels."""
    columns_ = (Tensor(name="pixels", type="uint8", shape=(size, size, 3)), *DECODE.columns[1:])
    return replace(TENSORS, name=name, steps=(replace(DECODE, columns=columns_, parameters=parameters(size=size)),))


def loop(payloads: list[bytes], size: int) -> None:
    from include.datasets.functions.images import decode

    for payload in payloads:
        decode(payload, size=size)


def script(folder: Path, size: int) -> None:
    """The same result without us, as a person would write it."""
    from include.datasets.functions.images import decode

    kept = ("sample_id", "source_key")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in kept),
            ("pixels", pa.large_binary()),
            ("width", pa.int64()),
            ("height", pa.int64()),
            ("format", pa.string()),
        ]
    )
    output = folder / "script.parquet"
    with pq.ParquetWriter(output, schema, compression="zstd", compression_level=1, use_dictionary=False) as writer:
        for path in sorted((folder / "lake" / "files" / "shards").iterdir()):
            with pq.ParquetFile(path) as shard:
                for number in range(shard.num_row_groups):
                    rows = shard.read_row_group(number, columns=[*kept, "payload"])
                    made = [decode(payload.as_py(), size=size) for payload in rows.column("payload")]
                    pixels = [one["pixels"].tobytes() for one in made]
                    rest = [[one[name] for one in made] for name in ("width", "height", "format")]
                    own = [pa.array(pixels, pa.large_binary()), *map(pa.array, rest)]
                    writer.write_table(pa.Table.from_arrays([*(rows.column(name) for name in kept), *own], schema=schema))
    output.unlink()


def unchanged(count: int = 1_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = LocalStore(Path(folder) / "lake")
        step = replace(DECODE, function="bench.transforms:size_of", packages=(), parameters=(), columns=columns(size="int64"))
        made = replace(TENSORS, steps=(step,))
        shards = one_a_shard(Path(folder), [b"%d" % number for number in range(count)])
        publish_shards(lake, shards)
        first = spent(lambda: run_transform(made, DAY, RUN, lake=lake, cores=1))
        again = spent(lambda: run_transform(made, DAY, RUN, lake=lake, cores=1))
        publish_shards(lake, [*one_a_shard(Path(folder), [b"changed"]), *shards[1:]])
        one = spent(lambda: run_transform(made, DAY, RUN, lake=lake, cores=1))
        for label, took in (("first run", first), ("unchanged", again), ("one shard changed", one)):
            print(f"{count} shards, {label}: {took.wall:.2f} s wall, {took.cpu:.2f} s CPU")


def one_a_shard(folder: Path, payloads: list[bytes]) -> list[FinishedShard]:
    """A shard for each."""
    home = Path(tempfile.mkdtemp(dir=folder))
    shards = [
        shard
        for number, payload in enumerate(payloads)
        for shard in written(home / f"{number:06d}", [(f"in/{number:06d}", payload)])
    ]
    if len(shards) != len(payloads):
        raise RuntimeError(f"{len(payloads)} samples became {len(shards)} shards")
    return shards


def size_of(payload: bytes) -> dict[str, int]:
    return {"size": len(payload)}


def written(folder: Path, samples: list[tuple[str, bytes]], *, etag: str = "e") -> list[FinishedShard]:
    """Samples (key, bytes) as shards on local disk."""
    rows = rows_of(samples, etag)
    folder.mkdir(parents=True, exist_ok=True)
    with ShardWriter(folder, rows.schema, ParquetStyle(compress=False), limit_bytes=10**8, row_group_bytes=4 * 10**6) as writer:
        return [*writer.add(rows), *writer.finish()]


def publish_shards(lake: LocalStore, shards: list[FinishedShard]) -> None:
    """A release of finished shards, without a source and without an index."""
    entries = []
    for shard in shards:
        if lake.head(layout.shard("files", shard.sha256)) is None:
            lake.put_file(layout.shard("files", shard.sha256), shard.path)
        entries.append(entry_of(shard))
    count = sum(entry.rows for entry in entries)
    manifest = Manifest(
        dataset="files",
        partition=DAY,
        shards=tuple(entries),
        index=(),
        schema=schema_entries(rows_of([("k", b"")]).schema),
        counts=Counts(listed=count, read=count, skipped={}, quarantined={}, samples=count),
        inventory_digest=sha256_of("".join(entry.sha256 for entry in entries).encode()),
        declaration_digest="bench",
    )
    identity = RUN.document()
    promote(lake, "files", {DAY: write_candidate(lake, manifest, identity)}, identity)


def rows_of(samples: list[tuple[str, bytes]], etag: str = "e") -> pa.Table:
    return pa.table(
        {
            "sample_id": [position_ids(key, 1)[0] for key, _ in samples],
            "source_key": [key for key, _ in samples],
            "source_etag": [etag] * len(samples),
            "source_row": pa.array([0] * len(samples), pa.int64()),
            "sample_digest": [hashlib.sha256(payload).hexdigest()[:32] for _, payload in samples],
            "payload": pa.array([payload for _, payload in samples], pa.large_binary()),
        }
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

    def head(self, key: str) -> Any:
        self.requests += 1
        return self._store.head(key)

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


def replay_one(rows: int, days: int) -> None:
    """By ID: the rows in one partition, then in many, before and after `headrace index`."""
    declared = Declarations(datasets=(FILES,), transforms=(), views=(), training_sets=(), failures={})
    for count in (1, days):
        with tempfile.TemporaryDirectory() as folder:
            landing, lake = LocalStore(Path(folder) / "landing"), LocalStore(Path(folder) / "lake")
            landing.put_new("in/one", b"the one that is looked for" * 1000)
            publish_large_index(lake, Path(folder), rows, count, landing)
            release = published(lake, "files")
            label = f"{rows:,} in {count} partitions"
            again(f"{label} (first)", lake, landing, declared)
            again(label, lake, landing, declared)
            if count > 1:
                took = spent(partial(write_lookup, lake, release))
                print(f"headrace index of {label}: {took.wall:.1f} s wall, {took.cpu:.1f} s CPU")
                again(f"{label}, indexed", lake, landing, declared)


def again(label: str, lake: LocalStore, landing: LocalStore, declared: Declarations) -> None:
    counting = Counting(lake)
    wanted = Wanted(sample_id=position_ids("in/one", 1)[0])
    took = spent(partial(replay, published(lake, "files"), wanted, declared, lake=counting, source=landing))
    rooms = Counter(key.split("/")[1] for key in counting.objects)
    print(
        f"replay among {label}: {took.cpu * 1000:.0f} ms CPU, {took.wall * 1000:.0f} ms wall, {len(counting.objects)} objects "
        f"({', '.join(f'{name} {number}' for name, number in sorted(rooms.items()))}) in {counting.requests} requests, "
        f"{counting.bytes_read / 1e6:.2f} MB; and the source object"
    )


def publish_large_index(lake: LocalStore, folder: Path, rows: int, days: int, landing: LocalStore) -> None:
    """One real shard of one sample, and indexes of `rows` samples in which it stands, on the last of some days."""
    info = landing.head("in/one")
    (shard,) = written(folder, [("in/one", landing.get("in/one").data)], etag=info.etag if info is not None else "")
    lake.put_file(layout.shard("files", shard.sha256), shard.path)
    own = shard.index.append_column("shard", pa.array([shard.sha256]))
    identity, made = RUN.document(), {}
    for day in range(days):
        is_last = day == days - 1
        manifest = Manifest(
            dataset="files",
            partition=(FILES.start + timedelta(days=day)).isoformat(),
            shards=(entry_of(shard),) if is_last else (),
            index=tuple(index_files(lake, folder, rows // days, own if is_last else own.slice(1), seed=day)),
            schema=schema_entries(rows_of([("k", b"")]).schema),
            counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=1),
            inventory_digest="bench",
            declaration_digest="bench",
        )
        made[manifest.partition] = write_candidate(lake, manifest, identity)
    promote(lake, "files", made, identity)


def index_files(lake: LocalStore, folder: Path, rows: int, own: pa.Table, seed: int) -> Iterator[IndexEntry]:
    """An index in files of equal ranges of the ID, as publication cuts it; `own` has the row that is looked for, or none."""
    noise, count = np.random.default_rng(seed), range_count(rows)
    for number in range(count):
        low, high = number * 2**32 // count, (number + 1) * 2**32 // count
        size = rows // count
        prefix = noise.integers(low, high, size, dtype=np.int64)
        ids = np.char.add(np.array([f"{one:08x}" for one in prefix]), np.array([f"{seed:04x}{n:020x}" for n in range(size)]))
        ids.sort()
        table = pa.table(
            {
                "sample_id": ids,
                "source_key": pa.array([f"in/{n:09d}" for n in range(size)]),
                "source_row": pa.array(np.zeros(size, np.int64)),
                "sample_digest": ids,
                "row_group": pa.array(np.zeros(size, np.int32)),
                "row": pa.array(np.arange(size)),
                "shard": pa.repeat("0" * 64, size),
            }
        )
        if any(low <= int(target[:8], 16) < high for target in own.column("sample_id").to_pylist()):
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
    parser.add_argument("--rows", type=int, default=10_000_000, help="for replay")
    parser.add_argument("--days", type=int, default=100, help="for replay")
    options = parser.parse_args()
    if "overhead" in options.what:
        overhead()
    if "unchanged" in options.what:
        unchanged()
    if "replay" in options.what:
        replay_one(options.rows, options.days)


if __name__ == "__main__":
    from bench.transforms import main as run  # by its own name: code of a script cannot be identified, of a module it can

    run()
