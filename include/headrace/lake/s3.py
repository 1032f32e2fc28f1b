"""A lake in an S3 bucket, or in anything that speaks S3 with conditional writes.

Control (listing, conditional writes, the credential chain) goes through boto3, which keeps every key exact and follows the
standard AWS configuration: profile, endpoint, addressing style. Bulk reads go through obstore (`s3_bulk.py`).
Clients are made on first use and again after a fork.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlparse

from headrace.lake import s3_bulk
from headrace.lake.errors import AlreadyThere, ObjectMissing, PointerMoved, StoreUnavailable
from headrace.lake.s3_errors import translated
from headrace.lake.store import Body, Fetched, ObjectInfo

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from obstore.store import S3Store as ObstoreS3

_RACE_TRIES: Final = 5
_RACE_PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class _Clients:
    pid: int
    control: S3Client
    bulk: ObstoreS3


class S3Store:
    """A store below `s3://bucket/prefix`. Safe for many threads; cheap to make, connects on first use."""

    def __init__(self, bucket: str, prefix: str = "") -> None:
        self._bucket = bucket
        self._prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self._clients: _Clients | None = None

    @classmethod
    def from_uri(cls, uri: str) -> S3Store:
        """`s3://bucket/prefix`."""
        parts = urlparse(uri)
        return cls(parts.netloc, parts.path)

    @property
    def uri(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        pages = self._control.get_paginator("list_objects_v2")
        with translated(f"{self.uri}/{prefix}"):
            for page in pages.paginate(Bucket=self._bucket, Prefix=self._prefix + prefix):
                for entry in page.get("Contents", []):
                    yield ObjectInfo(
                        key=entry["Key"][len(self._prefix) :],
                        size_bytes=entry["Size"],
                        etag=entry["ETag"].strip('"'),
                        modified=entry["LastModified"],
                    )

    def head(self, key: str) -> ObjectInfo | None:
        try:
            with translated(self._where(key)):
                facts = self._control.head_object(Bucket=self._bucket, Key=self._prefix + key)
        except ObjectMissing:
            return None
        return ObjectInfo(
            key=key, size_bytes=facts["ContentLength"], etag=facts["ETag"].strip('"'), modified=facts["LastModified"]
        )

    def get(self, key: str, *, etag: str | None = None) -> Body:
        where = self._where(key)
        condition = {} if etag is None else {"IfMatch": f'"{etag}"'}
        with translated(where, on_precondition=lambda found: s3_bulk.changed(where, str(etag), found)):
            answer = self._control.get_object(Bucket=self._bucket, Key=self._prefix + key, **condition)  # type: ignore[arg-type] # the stubs spell out each condition
            data = answer["Body"].read()
        if len(data) != answer["ContentLength"]:
            raise StoreUnavailable(
                where,
                found=f"{len(data)} bytes",
                expected=f"{answer['ContentLength']} bytes, as announced",
                remedy="Try again: the connection broke.",
            )
        return Body(data=data, etag=answer["ETag"].strip('"'))

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        return s3_bulk.get_many(
            self._connected().bulk, self.uri, self._prefix, wanted, lambda info: self.get(info.key, etag=info.etag)
        )

    def put_new(self, key: str, data: bytes) -> str:
        where = self._where(key)

        def taken(found: str) -> AlreadyThere:
            return AlreadyThere(where, found=found, expected="a free key", remedy="Read it back and compare.")

        def put() -> str:
            with translated(where, on_precondition=taken):
                answer = self._control.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=data, IfNoneMatch="*")
            return answer["ETag"].strip('"')

        return _patiently(put)

    def put_file(self, key: str, path: Path, *, sha256: str) -> None:
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        with translated(self._where(key)), path.open("rb") as body:
            self._control.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=body, ChecksumSHA256=checksum)

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        where = self._where(key)

        def moved(found: str) -> PointerMoved:
            return PointerMoved(where, found=found, expected=f"ETag {expected}", remedy="Read the pointer again and rebase.")

        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": f'"{expected}"'}

        def put() -> str:
            with translated(where, on_precondition=moved):
                answer = self._control.put_object(
                    Bucket=self._bucket,
                    Key=self._prefix + key,
                    Body=data,
                    **condition,  # type: ignore[arg-type] # the stubs spell out each condition
                )
            return answer["ETag"].strip('"')

        return _patiently(put)

    def delete(self, key: str) -> None:
        with translated(self._where(key)):
            self._control.delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def _where(self, key: str) -> str:
        return f"{self.uri}/{key}"

    @property
    def _control(self) -> S3Client:
        return self._connected().control

    def _connected(self) -> _Clients:
        clients = self._clients
        if clients is None or clients.pid != os.getpid():
            clients = _connect(self._bucket)
            self._clients = clients
        return clients


def _patiently(put: Callable[[], str]) -> str:
    """Repeat a conditional write that met another one under way: 409 says nothing about who won."""
    for _ in range(_RACE_TRIES - 1):
        try:
            return put()
        except StoreUnavailable as error:
            if not error.found.startswith("409"):
                raise
            time.sleep(_RACE_PAUSE_SECONDS)
    return put()


def _connect(bucket: str) -> _Clients:
    import boto3
    from botocore.config import Config
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import S3Store as ObstoreS3

    session = boto3.session.Session()
    config = Config(
        retries={"mode": "adaptive", "max_attempts": 5},
        max_pool_connections=s3_bulk.THREADS,
        connect_timeout=10,
        read_timeout=60,
    )
    control = session.client("s3", config=config)
    endpoint = control.meta.endpoint_url
    bulk = ObstoreS3(
        bucket,
        endpoint=endpoint,
        region=control.meta.region_name,
        virtual_hosted_style_request=False,
        client_options={"allow_http": endpoint.startswith("http://")},
        credential_provider=Boto3CredentialProvider(session),
    )
    return _Clients(pid=os.getpid(), control=control, bulk=bulk)
