"""What a transform costs: our machinery beside the bare function, and a re-run of what is unchanged.

    PYTHONPATH=include:. python bench/transforms.py [overhead] [unchanged]

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
import io
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace.lake.local import LocalStore
from headrace.shards.write import FinishedShard
from headrace.spec.columns import columns
from headrace.spec.transform import Step, Tensor, Transform, parameters
from headrace.transforms.run import run_transform

from bench.raw_samples import DAY, RUN, Spent, publish_shards, spent, written

SIZE = 64
ROUNDS = 5
CASES = (("2 kB to 1.7 kB", 44, 24_000, 24), ("2 kB to 12 kB", 44, 12_000, 64), ("2 MB to 12 kB", 1_720, 240, 64))
"""For overhead: what becomes what, the sides of the pictures, how many (of the large, one task's batch), and the sides of the tensors."""

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["overhead", "unchanged"])
    options = parser.parse_args()
    if "overhead" in options.what:
        overhead()
    if "unchanged" in options.what:
        unchanged()


if __name__ == "__main__":
    from bench.transforms import main as run  # by its own name: code of a script cannot be identified, of a module it can

    run()
