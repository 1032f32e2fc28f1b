"""Who makes shards of many small objects: Headrace, its peers, and the floor.

Each takes (source bucket, bucket to write, kind of bytes) and returns how many samples it wrote. What each does is said in
`compaction.py`. Peers run in Pythons of their own, so each is imported only where it is asked for.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from s3_server import THREADS, bulk_client, client

TARGET_BYTES = 100_000_000


def headrace(source: str, bucket: str, kind: str) -> int:
    """Plan, write, publish, as a run does."""
    from datetime import date

    from headrace.lake.open import open_store
    from headrace.manifests.run import RunIdentity
    from headrace.shards.compact import plan_partition, publish_partition
    from headrace.shards.group import write_groups
    from headrace.shards.plan import batches
    from headrace.spec.dataset import Dataset, Source
    from headrace.spec.formats import RawBytes

    form = RawBytes(compress=kind == "text")
    dataset = Dataset(name="bench", source=Source(prefix="in/", format=form), timezone="UTC", start=date(2026, 1, 1))
    landing, lake = open_store(f"s3://{source}"), open_store(f"s3://{bucket}")
    plan = plan_partition(dataset, "all", source=landing, lake=lake)
    for batch in batches(plan):
        write_groups(dataset, plan, batch, source=landing, lake=lake)
    run = RunIdentity(dag="bench", run_id="bench", kind="local", partition_key="all")
    manifest = publish_partition(dataset, plan, run, lake=lake).manifest
    sizes = sorted(shard.size_bytes for shard in manifest.shards)
    print(f"shards {len(sizes)}: {sizes[0]} to {sizes[-1]} bytes", file=sys.stderr)
    return manifest.counts.samples


def mds(source: str, bucket: str, _kind: str) -> int:
    """boto3 in threads, mosaicml-streaming's writer."""
    from streaming import MDSWriter

    count = 0
    columns = {"key": "str", "payload": "bytes"}
    with MDSWriter(out=f"s3://{bucket}/mds", columns=columns, size_limit=TARGET_BYTES, hashes=["sha1"]) as writer:
        for key, data in _boto3_bodies(client(), source):
            writer.write({"key": key, "payload": data})
            count += 1
    return count


def webdataset(source: str, bucket: str, _kind: str) -> int:
    """boto3 in threads, webdataset's writer; a shard is uploaded while the next is written."""
    from webdataset import ShardWriter

    s3, count = client(), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as uploads:

        def post(path: str) -> None:
            uploads.submit(_upload_and_remove, s3, bucket, path)

        with ShardWriter(f"{folder}/%06d.tar", maxsize=TARGET_BYTES, maxcount=10**9, post=post, verbose=0) as writer:
            for key, data in _boto3_bodies(s3, source):
                writer.write({"__key__": key.removesuffix(".bin"), "bin": data})
                count += 1
        uploads.shutdown(wait=True)
    return count


def litdata(source: str, bucket: str, _kind: str) -> int:
    """Processes of litdata's own, each with a boto3 client."""
    from litdata import optimize

    s3 = client()
    inputs = [f"{source}/{key}" for key in _keys(s3, source)]
    with tempfile.TemporaryDirectory() as folder:
        optimize(fn=litdata_sample, inputs=inputs, output_dir=folder, chunk_bytes=TARGET_BYTES, num_workers=os.cpu_count() or 2)
        for path in sorted(Path(folder).iterdir()):
            s3.upload_file(str(path), bucket, path.name)
    return len(inputs)


def litdata_sample(place: str) -> dict[str, Any]:
    """What litdata's processes call for each input, `bucket/key`."""
    global _litdata_client  # noqa: PLW0603 - one client for each of litdata's processes
    if _litdata_client is None:
        _litdata_client = client()
    bucket, _, key = place.partition("/")
    return {"key": key, "payload": _litdata_client.get_object(Bucket=bucket, Key=key)["Body"].read()}


_litdata_client: Any = None


def floor(source: str, bucket: str, _kind: str, *, verified: bool = False) -> int:
    """Read all with obstore and put blobs of the target size. Verified: each is hashed, read back and hashed."""
    import obstore

    landing, out = bulk_client(source), bulk_client(bucket)
    count, blob, size, shard = 0, [], 0, 0
    for _, data in _ahead(lambda key: obstore.get(landing, key).bytes(), _keys(client(), source), 64):
        blob.append(memoryview(data))
        size += len(data)
        count += 1
        if size >= TARGET_BYTES:
            _put(out, f"{shard:06d}", b"".join(blob), verified=verified)
            blob, size, shard = [], 0, shard + 1
    if blob:
        _put(out, f"{shard:06d}", b"".join(blob), verified=verified)
    return count


def _put(out: Any, key: str, data: bytes, *, verified: bool) -> None:
    import obstore

    obstore.put(out, key, data, use_multipart=False)
    if verified:
        sent, found = hashlib.sha256(data), hashlib.sha256()
        for chunk in obstore.get(out, key).stream(min_chunk_size=4_000_000):
            found.update(chunk)
        if sent.digest() != found.digest():
            raise RuntimeError("other bytes")


def _keys(s3: Any, bucket: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def _boto3_bodies(s3: Any, bucket: str) -> Iterator[tuple[str, bytes]]:
    def get(key: str) -> bytes:
        return bytes(s3.get_object(Bucket=bucket, Key=key)["Body"].read())

    return _ahead(get, _keys(s3, bucket), THREADS)


def _ahead(get: Callable[[str], Any], keys: list[str], window: int) -> Iterator[tuple[str, Any]]:
    """Bodies in key order, `window` objects ahead."""
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


def _upload_and_remove(s3: Any, bucket: str, path: str) -> None:
    s3.upload_file(path, bucket, Path(path).name)
    Path(path).unlink()


CONTENDERS: dict[str, Callable[[str, str, str], int]] = {
    "headrace": headrace,
    "mds": mds,
    "webdataset": webdataset,
    "litdata": litdata,
    "floor": floor,
    "floor_verified": lambda source, bucket, kind: floor(source, bucket, kind, verified=True),
}
PEERS = ("mds", "webdataset", "litdata")
