"""Many small objects into ~100 MB shards: Headrace beside its peers and the floor, on one real S3 server.

    python bench/compaction.py --objects 10000 --size 200000 --kind random --python mds=/venv/bin/python --json out.json

Each contender runs in a process of its own (and its own Python, where its requirements clash with ours) against the same SeaweedFS and the
same objects, in random order, `--rounds` times. Measured: wall seconds, processor seconds of the contender (its children included, the
server's not), peak memory of its largest process. Only ratios mean anything: server and contender share the machine.

Contenders: `headrace`; `mds` (boto3 in 32 threads + mosaicml-streaming's MDSWriter); `webdataset` (boto3 in 32 threads + ShardWriter);
`litdata` (litdata.optimize with boto3); `floor` (obstore reads all, 100 MB blobs are put, nothing is checked); `floor_verified` (the same,
each blob read back and hashed, which is what a verified publication has to move at least).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TARGET_BYTES = 100_000_000
THREADS = 32
SOURCE_BUCKET = "source"


def main() -> None:
    options = _options()
    if options.worker is not None:
        _work(options)
        return
    pythons = dict(item.split("=", 1) for item in options.python)
    with _server(options.data) as environment:
        started = time.monotonic()
        _seed(options, environment)
        print(f"seeded {options.objects} x {options.size} {options.kind} in {time.monotonic() - started:.0f} s", file=sys.stderr)
        results: dict[str, list[dict[str, float]]] = {name: [] for name in options.contenders}
        for number in range(options.rounds):
            for name in random.sample(options.contenders, len(options.contenders)):
                found = _run(name, pythons.get(name, sys.executable), options, environment, f"out{number}{name}".replace("_", ""))
                results[name].append(found)
                print(number, name, json.dumps(found), file=sys.stderr)
    summary = _summary(options, results)
    print(json.dumps(summary, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(summary, indent=2) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--kind", choices=["random", "text"], default="random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", default=list(WORKERS))
    parser.add_argument("--python", action="append", default=[], help="contender=path of its Python")
    parser.add_argument("--data", type=Path, help="folder for the server's data; temporary without one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", choices=list(WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--bucket", help=argparse.SUPPRESS)
    parser.add_argument("--source", default=SOURCE_BUCKET, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- the server and its objects -----------------------------------------------------------------------------------------------------


def _server(data: Path | None) -> Any:
    import contextlib

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from local import processes, seaweedfs
    from local.environment import Layout, house_environment, write_environment
    from local.keys import house_keys
    from local.places import Places
    from local.ports import house_ports

    @contextlib.contextmanager
    def running() -> Iterator[dict[str, str]]:
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as temporary:
            places = Places(home=Path(temporary) if data is None else data)
            places.create()
            keys, ports = house_keys(places.keys), house_ports(places.ports, None)
            environment = house_environment(os.environ, places, ports, keys, Layout(), cores=2)
            write_environment(places, ports, keys, environment)
            program = processes.start(seaweedfs.prepare(places, ports, keys), places, environment)
            try:
                client = seaweedfs.client(ports, keys)
                while not seaweedfs.is_ready(client):
                    time.sleep(0.2)
                plain = {"AWS_ACCESS_KEY_ID": keys.s3_access_key, "AWS_SECRET_ACCESS_KEY": keys.s3_secret_key}
                plain |= {
                    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports.s3}",
                    "AWS_REGION": "us-east-1",
                    "AWS_DEFAULT_REGION": "us-east-1",
                }
                yield plain | {"S3_ENDPOINT_URL": plain["AWS_ENDPOINT_URL"]}
            finally:
                processes.stop([program], patience_seconds=10)

    return running()


def _seed(options: argparse.Namespace, environment: dict[str, str]) -> None:
    import obstore

    os.environ.update(environment)
    bucket = options.bucket or SOURCE_BUCKET
    _client().create_bucket(Bucket=bucket)
    store = _obstore(bucket)
    words = [f"{n * 2654435761 % 2**32:x}" for n in range(4096)]

    def put(number: int) -> None:
        if options.kind == "random":
            data = random.Random(number).randbytes(options.size)
        else:
            data = " ".join(random.Random(number).choices(words, k=options.size // 7)).encode()[: options.size]
        obstore.put(store, f"in/{number:06d}.bin", data, use_multipart=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(options.objects)))


def _run(name: str, python: str, options: argparse.Namespace, environment: dict[str, str], bucket: str) -> dict[str, float]:
    client = _client()
    client.create_bucket(Bucket=bucket)
    own = Path(__file__).parents[1]
    command = [python, __file__, "--worker", name, "--bucket", bucket, "--kind", options.kind, "--source", options.source]
    paths = {"PYTHONPATH": f"{own / 'include'}:{own}"} if python == sys.executable else {}
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "AWS_"))}
    try:
        done = subprocess.run(command, env=clean | environment | paths, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))
    finally:
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for entry in page.get("Contents", []):
                client.delete_object(Bucket=bucket, Key=entry["Key"])
        client.delete_bucket(Bucket=bucket)  # a bucket is a collection: its volumes, and their disk space, go with it


def _work(options: argparse.Namespace) -> None:
    started, before = time.monotonic(), _processor_seconds()
    global SOURCE_BUCKET  # noqa: PLW0603 - one bucket is read in a worker's life
    SOURCE_BUCKET = options.source
    written = WORKERS[options.worker](options.bucket, options.kind)
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    found = {
        "wall_seconds": round(time.monotonic() - started, 2),
        "cpu_seconds": round(_processor_seconds() - before, 2),
        "peak_mb": round(peak / 1000, 1),
        "samples": written,
    }
    print(json.dumps(found))


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _summary(options: argparse.Namespace, results: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    def median(name: str, figure: str) -> float:
        values = sorted(one[figure] for one in results[name])
        return values[len(values) // 2]

    peers = [name for name in results if name in {"mds", "webdataset", "litdata"}]
    ratios = {}
    if "headrace" in results:
        for figure in ("wall_seconds", "cpu_seconds"):
            ours = median("headrace", figure)
            if peers:
                ratios[f"best peer / headrace, {figure}"] = round(min(median(name, figure) for name in peers) / ours, 2)
            for name in ("floor", "floor_verified"):
                if name in results:
                    ratios[f"{name} / headrace, {figure}"] = round(median(name, figure) / ours, 2)
    medians = {name: {figure: median(name, figure) for figure in found[0]} for name, found in results.items()}
    about = {
        "objects": options.objects,
        "size_bytes": options.size,
        "kind": options.kind,
        "rounds": options.rounds,
        "cores": os.cpu_count(),
    }
    return {"about": about, "medians": medians, "ratios": ratios, "runs": results}


# --- contenders ---------------------------------------------------------------------------------------------------------------------


def _client() -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=Config(max_pool_connections=THREADS))


def _obstore(bucket: str) -> Any:
    from obstore.store import S3Store

    return S3Store(
        bucket,
        endpoint=os.environ["AWS_ENDPOINT_URL"],
        region="us-east-1",
        access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
        secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


def _keys(client: Any) -> list[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=SOURCE_BUCKET)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def _ahead(get: Callable[[str], Any], keys: list[str], window: int) -> Iterator[tuple[str, Any]]:
    """Bodies in key order, `window` objects ahead."""
    from collections import deque

    pending: deque[Any] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for key in keys:
            if len(pending) >= window:
                done, future = pending.popleft()
                yield done, future.result()
            pending.append((key, pool.submit(get, key)))
        while pending:
            done, future = pending.popleft()
            yield done, future.result()


def _boto3_bodies() -> tuple[Any, Iterator[tuple[str, bytes]]]:
    client = _client()

    def get(key: str) -> bytes:
        return bytes(client.get_object(Bucket=SOURCE_BUCKET, Key=key)["Body"].read())

    return client, _ahead(get, _keys(client), THREADS)


def _headrace(bucket: str, kind: str) -> int:
    from datetime import date

    from headrace.lake.open import open_store
    from headrace.manifests.run import RunIdentity
    from headrace.shards.compact import plan_partition, publish_partition
    from headrace.shards.group import write_groups
    from headrace.shards.plan import batches
    from headrace.spec.dataset import Dataset, Source
    from headrace.spec.formats import RawBytes

    dataset = Dataset(
        name="bench",
        source=Source(prefix="in/", format=RawBytes(compress=kind == "text")),
        timezone="UTC",
        start=date(2026, 1, 1),
    )
    source, lake = open_store(f"s3://{SOURCE_BUCKET}"), open_store(f"s3://{bucket}")
    plan = plan_partition(dataset, "all", source=source, lake=lake)
    for batch in batches(plan):
        write_groups(dataset, plan, batch, source=source, lake=lake)
    run = RunIdentity(dag="bench", run_id="bench", kind="local", partition_key="all")
    manifest = publish_partition(dataset, plan, run, lake=lake).manifest
    sizes = sorted(shard.size_bytes for shard in manifest.shards)
    print(f"shards {len(sizes)}: {sizes[0]} to {sizes[-1]} bytes", file=sys.stderr)
    return manifest.counts.samples


def _mds(bucket: str, _kind: str) -> int:
    from streaming import MDSWriter

    _, bodies = _boto3_bodies()
    count = 0
    with MDSWriter(
        out=f"s3://{bucket}/mds", columns={"key": "str", "payload": "bytes"}, size_limit=TARGET_BYTES, hashes=["sha1"]
    ) as writer:
        for key, data in bodies:
            writer.write({"key": key, "payload": data})
            count += 1
    return count


def _webdataset(bucket: str, _kind: str) -> int:
    import webdataset

    client, bodies = _boto3_bodies()
    count = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as uploads:

        def post(path: str) -> None:
            uploads.submit(_upload_and_remove, client, bucket, path)

        with webdataset.ShardWriter(f"{folder}/%06d.tar", maxsize=TARGET_BYTES, maxcount=10**9, post=post, verbose=0) as writer:
            for key, data in bodies:
                writer.write({"__key__": key.removesuffix(".bin"), "bin": data})
                count += 1
        uploads.shutdown(wait=True)
    return count


def _upload_and_remove(client: Any, bucket: str, path: str) -> None:
    client.upload_file(path, bucket, Path(path).name)
    Path(path).unlink()


def litdata_sample(key: str) -> dict[str, Any]:
    """What litdata's workers call for each input."""
    global _litdata_client  # noqa: PLW0603 - one client for each of litdata's processes
    if _litdata_client is None:
        _litdata_client = _client()
    return {"key": key, "payload": _litdata_client.get_object(Bucket=SOURCE_BUCKET, Key=key)["Body"].read()}


_litdata_client: Any = None


def _litdata(bucket: str, _kind: str) -> int:
    import litdata

    client = _client()
    keys = _keys(client)
    with tempfile.TemporaryDirectory() as folder:
        litdata.optimize(
            fn=litdata_sample, inputs=keys, output_dir=folder, chunk_bytes=TARGET_BYTES, num_workers=os.cpu_count() or 2
        )
        for path in sorted(Path(folder).iterdir()):
            client.upload_file(str(path), bucket, path.name)
    return len(keys)


def _floor(bucket: str, _kind: str, *, verified: bool = False) -> int:
    import hashlib

    import obstore

    source, out = _obstore(SOURCE_BUCKET), _obstore(bucket)
    count, blob, size, shard = 0, [], 0, 0

    def put() -> None:
        data = b"".join(blob)
        obstore.put(out, f"{shard:06d}", data, use_multipart=False)
        if verified:
            sent, found = hashlib.sha256(data), hashlib.sha256()
            for chunk in obstore.get(out, f"{shard:06d}").stream(min_chunk_size=4_000_000):
                found.update(chunk)
            if sent.digest() != found.digest():
                raise RuntimeError("other bytes")

    for _, data in _ahead(lambda key: obstore.get(source, key).bytes(), _keys(_client()), 64):
        blob.append(memoryview(data))
        size += len(data)
        count += 1
        if size >= TARGET_BYTES:
            put()
            blob, size, shard = [], 0, shard + 1
    if blob:
        put()
    return count


WORKERS: dict[str, Callable[[str, str], int]] = {
    "headrace": _headrace,
    "mds": _mds,
    "webdataset": _webdataset,
    "litdata": _litdata,
    "floor": _floor,
    "floor_verified": lambda bucket, kind: _floor(bucket, kind, verified=True),
}

if __name__ == "__main__":
    main()
