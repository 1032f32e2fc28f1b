"""A lake in an S3 bucket, or in anything that speaks S3 with conditional writes.

Control (listing, conditional writes, the credential chain) goes through boto3, which keeps every key exact and follows the
standard AWS configuration: profile, endpoint, addressing style. Bulk reads go through obstore (`s3_bulk.py`).
Clients are made on first use and again after a fork: neither library survives one.

A write whose answer was lost is repeated by the client; a create-only write then meets its own object (412), which callers tell from
somebody else's by reading it back.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from headrace.errors import HeadraceError
from headrace.lake import s3_bulk
from headrace.lake.errors import AccessRefused, AlreadyThere, ObjectMissing, PointerMoved, StoreUnavailable
from headrace.lake.forks import may_use_obstore
from headrace.lake.patience import patiently
from headrace.lake.s3_errors import translated, whole
from headrace.lake.store import Body, Fetched, ObjectInfo, Stored

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectsV2OutputTypeDef
    from obstore.store import S3Store as ObstoreS3

_FACTS: Final = ("ContentLength", "ETag", "LastModified")


@dataclass(frozen=True, kw_only=True)
class S3Login:
    """Who a store is opened as: a session with credentials, and the endpoint, None for the one the session's configuration names."""

    session: boto3.session.Session
    endpoint_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Clients:
    pid: int
    control: S3Client
    bulk: ObstoreS3


class S3Store:
    """A store below `s3://bucket/prefix`. Safe for many threads; cheap to make, connects on first use."""

    def __init__(self, bucket: str, prefix: str = "", login: Callable[[], S3Login] | None = None) -> None:
        self._bucket = bucket
        self._login = login or _standard
        self._prefix = prefix.strip("/") + "/" if prefix.strip("/") else ""
        self._clients: _Clients | None = None
        self._connecting = threading.Lock()

    @classmethod
    def from_uri(cls, uri: str, login: Callable[[], S3Login] | None = None) -> S3Store:
        """`s3://bucket/prefix`."""
        parts = urlparse(uri)
        return cls(parts.netloc, parts.path, login)

    @property
    def uri(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}".rstrip("/")

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        token: str | None = None
        while True:
            page = patiently(lambda token=token: self._page(prefix, token))  # type: ignore[misc] # a default binds the loop's value
            for entry in page.get("Contents", []):
                yield ObjectInfo(
                    key=entry["Key"][len(self._prefix) :],
                    size_bytes=entry["Size"],
                    etag=entry["ETag"].strip('"'),
                    modified=entry["LastModified"],
                )
            if not page["IsTruncated"]:
                return
            token = page["NextContinuationToken"]

    def head(self, key: str) -> ObjectInfo | None:
        try:
            return patiently(lambda: self._head(key))
        except ObjectMissing:
            return None

    def get(self, key: str, *, etag: str | None = None) -> Body:
        return patiently(lambda: self._get(key, etag, {}))

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        if end <= start:
            return b""
        return patiently(lambda: self._get(key, etag, {"Range": f"bytes={start}-{end - 1}"})).data

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        return s3_bulk.get_many(
            self._connected().bulk, self.uri, self._prefix, wanted, lambda info: self.get(info.key, etag=info.etag)
        )

    def stored(self, key: str) -> Stored | None:
        if may_use_obstore():
            return patiently(lambda: s3_bulk.stored(self._connected().bulk, self._where(key), self._prefix + key))
        try:
            data = self.get(key).data
        except ObjectMissing:
            return None
        return Stored(size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())

    def put_new(self, key: str, data: bytes) -> str:
        where = self._where(key)

        def taken(found: str) -> AlreadyThere:
            return AlreadyThere(where, found=found, expected="a free key", remedy="Read it back and compare.")

        return patiently(lambda: self._put(key, data, {"IfNoneMatch": "*"}, taken))

    def put_file(self, key: str, path: Path) -> None:
        if may_use_obstore():
            patiently(lambda: s3_bulk.put_file(self._connected().bulk, self._where(key), self._prefix + key, path))
        else:
            patiently(lambda: self._put_plainly(key, path))

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        where = self._where(key)

        def moved(found: str) -> PointerMoved:
            return PointerMoved(where, found=found, expected=f"ETag {expected}", remedy="Read the pointer again and rebase.")

        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": f'"{expected}"'}
        try:
            return patiently(lambda: self._put(key, data, condition, moved))
        except ObjectMissing as error:  # S3 answers 404, not 412, to If-Match on a key that is gone
            raise moved("no object") from error

    def _put_plainly(self, key: str, path: Path) -> None:
        with translated(self._where(key)), path.open("rb") as body:
            self._control.put_object(Bucket=self._bucket, Key=self._prefix + key, Body=body)

    def _page(self, prefix: str, token: str | None) -> ListObjectsV2OutputTypeDef:
        where = f"{self.uri}/{prefix}"
        more = {} if token is None else {"ContinuationToken": token}
        with translated(where):
            page = self._control.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix + prefix, **more)  # type: ignore[arg-type] # as above
        return whole(where, page, "IsTruncated", *(["NextContinuationToken"] if page.get("IsTruncated") else []))

    def _head(self, key: str) -> ObjectInfo:
        where = self._where(key)
        with translated(where):
            facts = whole(where, self._control.head_object(Bucket=self._bucket, Key=self._prefix + key), *_FACTS)
        return ObjectInfo(
            key=key, size_bytes=facts["ContentLength"], etag=facts["ETag"].strip('"'), modified=facts["LastModified"]
        )

    def _get(self, key: str, etag: str | None, extra: dict[str, str]) -> Body:
        where = self._where(key)
        condition = extra if etag is None else {**extra, "IfMatch": f'"{etag}"'}
        with translated(where, on_precondition=lambda found: s3_bulk.changed(where, str(etag), found)):
            answer = self._control.get_object(Bucket=self._bucket, Key=self._prefix + key, **condition)  # type: ignore[arg-type] # the stubs spell out each condition
            whole(where, answer, "ContentLength", "ETag")
            data = answer["Body"].read()
        if len(data) != answer["ContentLength"]:
            raise StoreUnavailable(
                where,
                found=f"{len(data)} bytes",
                expected=f"{answer['ContentLength']} bytes, as announced",
                remedy="Try again: the connection broke.",
            )
        return Body(data=data, etag=answer["ETag"].strip('"'))

    def _put(self, key: str, data: bytes, condition: dict[str, str], refused: Callable[[str], HeadraceError]) -> str:
        with translated(self._where(key), on_precondition=refused):
            answer = self._control.put_object(
                Bucket=self._bucket,
                Key=self._prefix + key,
                Body=data,
                **condition,  # type: ignore[arg-type] # the stubs spell out each condition
            )
        return whole(self._where(key), answer, "ETag")["ETag"].strip('"')

    def delete(self, key: str) -> None:
        with translated(self._where(key)):
            self._control.delete_object(Bucket=self._bucket, Key=self._prefix + key)

    def _where(self, key: str) -> str:
        return f"{self.uri}/{key}"

    @property
    def _control(self) -> S3Client:
        return self._connected().control

    def _connected(self) -> _Clients:
        with self._connecting:  # boto3 sessions are not made by two threads at once
            clients = self._clients
            if clients is None or clients.pid != os.getpid():
                clients = _connect(self._bucket, self._login())
                self._clients = clients
            return clients


def instant(text: Any) -> datetime:
    """A time in an answer. botocore guesses the form of each, which was half the processor time of a listing; listings write ISO 8601."""
    if isinstance(text, str) and text.endswith("Z"):
        return datetime.fromisoformat(text)
    from botocore.utils import parse_timestamp

    other: datetime = parse_timestamp(text)
    return other


def _standard() -> S3Login:
    """The standard AWS chain: environment, profile, role."""
    import boto3

    return S3Login(session=boto3.session.Session())


def _connect(bucket: str, login: S3Login) -> _Clients:
    from botocore.config import Config

    if login.session.get_credentials() is None:
        raise AccessRefused(
            f"s3://{bucket}",
            found="no credentials",
            expected="an access key, a profile or a role",
            remedy="Set AWS_PROFILE or the other variables of the standard AWS chain, or name an Airflow connection in the URI.",
        )
    config = Config(
        retries={"mode": "adaptive", "max_attempts": 5},
        max_pool_connections=32,
        connect_timeout=10,
        read_timeout=60,
    )
    parsers = login.session._session.get_component("response_parser_factory")  # boto3 has no public way to its core
    parsers.set_parser_defaults(timestamp_parser=instant)
    control = login.session.client("s3", config=config, endpoint_url=login.endpoint_url)
    return _Clients(pid=os.getpid(), control=control, bulk=s3_bulk.connect(bucket, login.session, control.meta))
