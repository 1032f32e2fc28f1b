"""Reading for training, side by side with peers: samples per second and processor time per sample.

    python bench/loader.py resume /tmp/bench/large /tmp/bench/large-cache
    python bench/loader.py all --work /tmp/bench --peers /tmp/peers [--s3] > results.json

Each peer runs in an environment of its own below `--peers` (`mosaicml-streaming`, `litdata`, `webdataset`, `datasets`, each with torch;
ours is `headrace`, this repository's requirements with torch), because their pins exclude each other. Everyone writes the same samples
(id, label, payload of random bytes) in its own format and default size, then reads one shuffled epoch in batches through a torch
DataLoader and adds up what it got. `first` starts with an empty cache, `second` is a new process that finds what the first one left.
Imports are not counted. Ours verifies every byte; the peers run as they come. Rates of a shared machine say little; processor time per
sample and ratios say more.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SIZES = {"500B": (100_000, 484, 256), "50kB": (20_000, 49_984, 64)}
LIBRARIES = ("headrace", "mosaicml-streaming", "litdata", "webdataset", "datasets")
SEED = 11


def samples(size: str) -> Iterator[dict[str, Any]]:
    count, payload, _ = SIZES[size]
    import random

    rng = random.Random(SEED)
    for n in range(count):
        yield {"id": n, "label": n % 10, "payload": rng.randbytes(payload)}


def one_sample(item: dict[str, Any]) -> dict[str, Any]:
    return item


class Headrace:
    """This repository."""

    imports = ("headrace.loader.open", "headrace.loader.torch", "boto3", "obstore")

    def write(self, source: str, size: str) -> None:
        import pyarrow as pa
        from headrace.lake.open import open_store
        from headrace.manifests.manifest import Counts, Manifest
        from headrace.manifests.promote import promote, write_candidate
        from headrace.shards.table import write_table

        lake = open_store(source if "://" in source else f"file://{source}")
        table = pa.Table.from_pylist(list(samples(size)))
        written = write_table(lake, "bench", table, key=("id",), computed_from="bench")
        manifest = Manifest(
            dataset="bench", partition="all", shards=written.uploaded.shards, index=written.uploaded.index, schema=written.schema,
            counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=written.rows),
            inventory_digest="0" * 64, declaration_digest="0" * 64,
        )  # fmt: skip
        promote(lake, "bench", {"all": write_candidate(lake, manifest, {})}, {})

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        from headrace.loader import LoaderOptions, open_loader
        from headrace.loader.torch import TorchLoader

        options = LoaderOptions(seed=SEED, batch_size=SIZES[size][2], cache_folder=Path(cache))
        loader = open_loader(source if "://" in source else f"file://{source}", "bench", options=options)
        return iter(TorchLoader(loader, workers=workers))


class Mosaicml:
    """mosaicml-streaming 0.13.0."""

    imports = ("streaming", "boto3")

    def write(self, source: str, size: str) -> None:
        from streaming import MDSWriter

        with MDSWriter(columns={"id": "int", "label": "int", "payload": "bytes"}, out=source) as out:
            for item in samples(size):
                out.write(item)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        from streaming import StreamingDataLoader, StreamingDataset
        from streaming.base.util import clean_stale_shared_memory

        clean_stale_shared_memory()
        where = {"remote": source, "local": cache} if "://" in source else {"local": source}
        batch = SIZES[size][2]
        dataset = StreamingDataset(**where, shuffle=True, shuffle_seed=SEED, batch_size=batch)
        return iter(StreamingDataLoader(dataset, batch_size=batch, num_workers=workers))


class Litdata:
    """litdata 0.2.76."""

    imports = ("litdata", "boto3")

    def write(self, source: str, size: str) -> None:
        import litdata

        folder = source if "://" not in source else f"/tmp/litdata-{size}"
        shutil.rmtree(folder, ignore_errors=True)
        litdata.optimize(one_sample, list(samples(size)), output_dir=folder, chunk_bytes="64MB", num_workers=1, verbose=False)
        if "://" in source:
            upload(Path(folder), source)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        import litdata

        options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]} if "://" in source else {}
        where = {"cache_dir": cache, "storage_options": options} if "://" in source else {}
        dataset = litdata.StreamingDataset(source, shuffle=True, seed=SEED, **where)
        return iter(litdata.StreamingDataLoader(dataset, batch_size=SIZES[size][2], num_workers=workers))


class Webdataset:
    """webdataset 1.0.2; it shuffles a buffer, knows no epoch, and reads S3 through a pipe of one's own."""

    imports = ("webdataset", "boto3")

    def write(self, source: str, size: str) -> None:
        import webdataset as wds

        folder = Path(source if "://" not in source else f"/tmp/webdataset-{size}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with wds.ShardWriter(str(folder / "%05d.tar"), maxsize=64e6, verbose=0) as out:
            for item in samples(size):
                out.write({"__key__": f"{item['id']:08d}", "cls": str(item["label"]).encode(), "bin": item["payload"]})
        if "://" in source:
            upload(folder, source)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        import torch
        import webdataset as wds

        if "://" in source:
            importlib.import_module("webdataset.gopen").gopen_schemes["s3"] = s3_body
            listed = s3_client().list_objects_v2(Bucket=s3_place(source)["Bucket"], Prefix=s3_place(source)["Key"])["Contents"]
            urls = [f"s3://{s3_place(source)['Bucket']}/{one['Key']}" for one in listed]
        else:
            urls = sorted(str(path) for path in Path(source).glob("*.tar"))
        made = wds.WebDataset(urls, shardshuffle=100, seed=SEED, cache_dir=cache if "://" in source else None, empty_check=False)
        pairs = made.shuffle(1000).to_tuple("cls", "bin").map(lambda pair: {"label": int(pair[0]), "payload": pair[1]})
        return iter(torch.utils.data.DataLoader(pairs, batch_size=SIZES[size][2], num_workers=workers))


class Datasets:
    """Hugging Face datasets 5.0.1: local files as memory-mapped Arrow, S3 streamed."""

    imports = ("datasets", "s3fs")

    def write(self, source: str, size: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = Path(source if "://" not in source else f"/tmp/datasets-{size}")
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(list(samples(size)))
        step = max(64_000_000 * table.num_rows // table.nbytes, 1)
        for number, start in enumerate(range(0, table.num_rows, step)):
            pq.write_table(table.slice(start, step), folder / f"{number:05d}.parquet", row_group_size=max(step // 16, 1))
        if "://" in source:
            upload(folder, source)

    def read(self, source: str, cache: str, size: str, workers: int) -> Iterator[Any]:
        import torch
        from datasets import load_dataset

        if "://" in source:
            options = {"client_kwargs": {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}}
            made = load_dataset(
                "parquet", data_files=f"{source}/*.parquet", split="train", streaming=True, storage_options=options
            )
            made = made.shuffle(seed=SEED, buffer_size=1000)
            return iter(torch.utils.data.DataLoader(made, batch_size=SIZES[size][2], num_workers=workers))
        made = load_dataset("parquet", data_files=f"{source}/*.parquet", split="train", cache_dir=cache)
        return iter(torch.utils.data.DataLoader(made, batch_size=SIZES[size][2], num_workers=workers, shuffle=True))


READERS: dict[str, Callable[[], Any]] = {
    "headrace": Headrace,
    "mosaicml-streaming": Mosaicml,
    "litdata": Litdata,
    "webdataset": Webdataset,
    "datasets": Datasets,
}


def s3_client() -> Any:
    import boto3

    return boto3.client("s3")


def s3_place(url: str) -> dict[str, str]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": key}


def s3_body(url: str, *_: Any, **__: Any) -> Any:
    return s3_client().get_object(**s3_place(url))["Body"]


def upload(folder: Path, source: str) -> None:
    place = s3_place(source)
    for path in folder.rglob("*"):
        if path.is_file():
            s3_client().upload_file(str(path), place["Bucket"], f"{place['Key']}/{path.relative_to(folder)}")


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(library: str, source: str, cache: str, size: str, workers: int) -> dict[str, Any]:
    """One epoch, in this process."""
    reader = READERS[library]()
    for name in ("torch", *reader.imports):
        importlib.import_module(name)
    started, before = time.perf_counter(), cpu_seconds()
    count = bytes_seen = labels = 0
    first = 0.0
    batches = reader.read(source, cache, size, workers)
    for batch in batches:
        first = first or time.perf_counter() - started
        payloads, numbers = batch["payload"], batch["label"]
        count += len(numbers)
        bytes_seen += sum(len(payload) for payload in payloads)
        labels += int(sum(numbers.tolist()))
    wall = time.perf_counter() - started
    del batches, batch
    import gc

    gc.collect()  # workers end, and their time is counted
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
        except ChildProcessError:
            break
    cpu = cpu_seconds() - before
    expected = SIZES[size][0]
    return {
        "library": library, "size": size, "workers": workers, "samples": count, "expected": expected,
        "samples_per_second": round(count / wall), "cpu_us_per_sample": round(cpu / max(count, 1) * 1e6, 2),
        "first_batch_seconds": round(first, 3), "bytes": bytes_seen, "labels": labels,
    }  # fmt: skip


RESUMED_SHARDS = 50


def resume(source: str, cache: str) -> dict[str, Any]:
    """Ours alone: a release of 10,000,000 samples of 500 bytes, resumed in the middle by a new loader, cache warm.

    Fifty entries of one shard of 200,000 samples stand for fifty shards: what resuming costs is the manifest, the order, one window's
    shuffle and verification, and these do not know that the bytes are the same.
    """
    import pyarrow as pa
    from headrace.lake.open import open_store
    from headrace.loader import LoaderOptions, open_loader
    from headrace.manifests.manifest import Counts, Manifest
    from headrace.manifests.promote import promote, write_candidate
    from headrace.manifests.read import latest
    from headrace.shards.table import write_table

    lake = open_store(f"file://{source}")
    if latest(lake, "large") is None:
        rows = [{"id": n, "label": n % 10, "payload": os.urandom(400)} for n in range(200_000)]
        written = write_table(lake, "large", pa.Table.from_pylist(rows), key=("id",), computed_from="bench", shard_bytes=10**9)
        manifest = Manifest(
            dataset="large", partition="all", shards=written.uploaded.shards * RESUMED_SHARDS, index=written.uploaded.index,
            schema=written.schema, counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=10_000_000),
            inventory_digest="0" * 64, declaration_digest="0" * 64,
        )  # fmt: skip
        promote(lake, "large", {"all": write_candidate(lake, manifest, {})}, {})
    options = LoaderOptions(seed=SEED, batch_size=256, cache_folder=Path(cache))
    answer: dict[str, Any] = {}
    for turn in ("cold", "sealing", "warm", "warm again"):
        started, before = time.perf_counter(), cpu_seconds()
        loader = open_loader(f"file://{source}", "large", options=options)
        loader.load_state_dict({**loader.state_dict(), "epoch": 3, "position": 4_999_999})
        iterator = iter(loader)
        next(iterator)
        answer[turn] = {"seconds": round(time.perf_counter() - started, 3), "cpu_seconds": round(cpu_seconds() - before, 3)}
        iterator.close()
        time.sleep(0.5)
    return {"samples": loader.length, **answer}


def run_all(work: Path, peers: Path, libraries: list[str], places: list[str], counts: list[int]) -> list[dict[str, Any]]:
    results = []
    for place in places:
        for size in SIZES:
            for library in libraries:
                source = f"s3://headrace/bench/{library}/{size}" if place == "s3" else str(work / "data" / library / size)
                cache = work / "cache" / place / library / size
                python = str(peers / library / "bin" / "python")
                call(python, "write", library, source, str(cache), size, "0")
                for workers in counts:
                    shutil.rmtree(cache, ignore_errors=True)
                    for turn in ("first", "second"):
                        answer = call(python, "read", library, source, str(cache), size, str(workers))
                        results.append({"place": place, "turn": turn, **answer})
                        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    return results


def call(python: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run([python, __file__, *arguments], capture_output=True, text=True, check=False, timeout=900)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or (arguments[0] == "read" and not lines):
        return {"library": arguments[1], "size": arguments[4], "workers": int(arguments[5]), "error": done.stderr[-300:]}
    return json.loads(lines[-1]) if lines else {}


def ratios(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each setting: the best peer's processor time per sample over ours."""
    compared = []
    keys = sorted({(one["place"], one["size"], one["workers"], one.get("turn", "")) for one in results})
    for key in keys:
        here = [one for one in results if (one["place"], one["size"], one["workers"], one["turn"]) == key and "error" not in one]
        ours = [one for one in here if one["library"] == "headrace"]
        whole = [one for one in here if one["library"] != "headrace"]
        if ours and whole:
            best = min(whole, key=lambda one: one["cpu_us_per_sample"])
            fastest = max(whole, key=lambda one: one["samples_per_second"])
            compared.append(
                {
                    "setting": " ".join(map(str, key)),
                    "best_peer": best["library"],
                    "cpu_ratio": round(best["cpu_us_per_sample"] / ours[0]["cpu_us_per_sample"], 2),
                    "fastest_peer": fastest["library"],
                    "rate_ratio": round(ours[0]["samples_per_second"] / fastest["samples_per_second"], 2),
                }
            )
    return compared


def main() -> None:
    if sys.argv[1] == "resume":
        print(json.dumps(resume(*sys.argv[2:])))
        return
    if sys.argv[1] in {"write", "read"}:
        verb, library, source, cache, size, workers = sys.argv[1:]
        if verb == "write":
            READERS[library]().write(source, size)
        else:
            print(json.dumps(measure(library, source, cache, size, int(workers))))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("all", choices=["all"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES))
    parser.add_argument("--s3", action="store_true", help="also from s3://headrace/bench; needs AWS_ENDPOINT_URL and credentials")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    chosen = parser.parse_args()
    results = run_all(chosen.work, chosen.peers, chosen.libraries, ["local", *(["s3"] if chosen.s3 else [])], chosen.workers)
    print(json.dumps({"results": results, "ratios": ratios(results)}, indent=1))


if __name__ == "__main__":
    main()
