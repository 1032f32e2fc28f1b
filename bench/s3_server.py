"""A real S3 server on loopback for a benchmark, filled with objects, and plain clients for it.

    with s3_server.running(None):
        s3_server.seed("source", objects=100, size_bytes=200_000, kind="random")

The server's own processor seconds are told too: it shares the machine with who is measured, so the clock depends on both.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

THREADS = 32


@dataclass(frozen=True, kw_only=True)
class Server:
    """`environment` is what a client needs to reach it."""

    pid: int
    environment: dict[str, str]

    def processor_seconds(self) -> float:
        """User and system time since its start."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(data: Path | None) -> Iterator[Server]:
    """A fresh server whose data lie in `data`, or in a temporary folder. This process's environment leads to it."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from local.s3_alone import s3_alone

    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-bench-"))) if data is None else data
        server = stack.enter_context(s3_alone(home))
        environment = _environment(server.keys, f"http://127.0.0.1:{server.ports.s3}")
        os.environ.update(environment)
        yield Server(pid=server.pid, environment=environment)


def _environment(keys: Any, endpoint: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": keys.s3_access_key,
        "AWS_SECRET_ACCESS_KEY": keys.s3_secret_key,
        "AWS_ENDPOINT_URL": endpoint,
        "S3_ENDPOINT_URL": endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def seed(bucket: str, *, objects: int, size_bytes: int, kind: str) -> None:
    """Make a bucket with `in/000000.bin` and so on: the same bytes every time, `random` or words (`text`)."""
    import obstore

    client().create_bucket(Bucket=bucket)
    store = bulk_client(bucket)
    words = [f"{n * 2654435761 % 2**32:x}" for n in range(4096)]

    def put(number: int) -> None:
        chance = random.Random(number)
        if kind == "random":
            data = chance.randbytes(size_bytes)
        else:
            data = " ".join(chance.choices(words, k=size_bytes // 7)).encode()[:size_bytes]
        obstore.put(store, f"in/{number:06d}.bin", data, use_multipart=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(objects)))


def remove(bucket: str) -> None:
    """A bucket is a collection: its volumes, and their disk space, go with it."""
    s3 = client()
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for entry in page.get("Contents", []):
            s3.delete_object(Bucket=bucket, Key=entry["Key"])
    s3.delete_bucket(Bucket=bucket)


def client() -> Any:
    """boto3, as the environment says."""
    import boto3
    from botocore.config import Config

    return boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], config=Config(max_pool_connections=THREADS))


def bulk_client(bucket: str) -> Any:
    """obstore, as the environment says."""
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
