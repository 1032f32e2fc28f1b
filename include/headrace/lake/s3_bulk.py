"""Moving bulk bytes to and from S3 fast.

obstore needs about a sixth of boto3's processor time per small object, so bulk reads go through it, from threads. What bounds
the reads is bytes in flight, not a count. A key obstore refuses (`//`, `.` segments) is read through boto3 instead, so every
listed key can be read. A shard goes up in one request, or, when it is large, in parts that are completed explicitly: in both cases the
object appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import mmap
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import obstore
from obstore.exceptions import BaseError, InvalidPathError, NotFoundError, PermissionDeniedError, PreconditionError
from obstore.store import S3Store as ObstoreS3

from headrace.errors import HeadraceError
from headrace.lake.errors import AccessRefused, ObjectChanged, StoreUnavailable
from headrace.lake.forks import may_use_obstore
from headrace.lake.patience import patiently
from headrace.lake.s3_errors import missing
from headrace.lake.store import Body, Fetched, ObjectInfo, Stored, View

if TYPE_CHECKING:
    import boto3
    from botocore.client import ClientMeta

BYTES_IN_FLIGHT: Final = 24 * 1024 * 1024
THREADS: Final = 16
ONE_REQUEST_BYTES: Final = 128 * 1024 * 1024
PART_BYTES: Final = 16 * 1024 * 1024
_MAX_PARTS: Final = 10_000
_CHUNK_BYTES: Final = 256 * 1024  # as the chunks come; larger ones would be put together first


def connect(bucket: str, session: boto3.session.Session, meta: ClientMeta) -> ObstoreS3:
    """A bulk client with the same credentials, region and endpoint as the control client.

    Bodies are not hashed for the signature: every shard is read back and compared with its SHA-256, which proves more.
    """
    from obstore.auth.boto3 import Boto3CredentialProvider

    return ObstoreS3(
        bucket,
        endpoint=meta.endpoint_url,
        region=meta.region_name,
        virtual_hosted_style_request=False,
        unsigned_payload=True,
        client_options={"allow_http": meta.endpoint_url.startswith("http://"), "timeout": timedelta(seconds=120)},
        retry_config={"max_retries": 8, "retry_timeout": timedelta(minutes=3)},
        credential_provider=Boto3CredentialProvider(session),
    )


def get_many(
    store: ObstoreS3, uri: str, prefix: str, wanted: Iterable[ObjectInfo], slow_get: Callable[[ObjectInfo], Body]
) -> Iterator[Fetched]:
    """Yield one answer per wanted object, in the order asked for, at most `BYTES_IN_FLIGHT` (or one object) ahead."""
    pending: deque[tuple[ObjectInfo, Future[View | HeadraceError]]] = deque()
    in_flight = 0
    with ThreadPoolExecutor(THREADS, thread_name_prefix="headrace-get") as pool:
        for info in wanted:
            while pending and (in_flight + info.size_bytes > BYTES_IN_FLIGHT or len(pending) >= 8 * THREADS):
                done, future = pending.popleft()
                in_flight -= done.size_bytes
                yield Fetched(wanted=done, body=future.result())
                del future  # its bytes are the reader's now
            pending.append((info, pool.submit(_get, store, uri, prefix, info, slow_get)))
            in_flight += info.size_bytes
        while pending:
            done, future = pending.popleft()
            yield Fetched(wanted=done, body=future.result())
            del future


def put_file(store: ObstoreS3, where: str, key: str, path: Path) -> None:
    """Upload one file. Large files go in parts whose size grows with the file, so that there are never too many.

    Others are sent out of the system's cache: reading them first took as long as sending them.
    """
    size = path.stat().st_size
    try:
        if size > ONE_REQUEST_BYTES:
            obstore.put(store, key, path, use_multipart=True, chunk_size=part_bytes(size), max_concurrency=4)
        else:
            obstore.put(store, key, _mapped(path, size), use_multipart=False)
    except (BaseError, OSError) as error:
        raise _of_obstore(where, error) from error


def part_bytes(size_bytes: int) -> int:
    """How large the parts of an upload are: S3 takes at most 10,000."""
    return max(PART_BYTES, -(-size_bytes // _MAX_PARTS))


def _mapped(path: Path, size: int) -> mmap.mmap | bytes:
    if size == 0:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def stored(store: ObstoreS3, where: str, key: str) -> Stored | None:
    """Hash what the store gives back, in pieces."""
    digest, size = hashlib.sha256(), 0
    try:
        answer = obstore.get(store, key)
        announced = answer.meta["size"]
        for chunk in answer.stream(min_chunk_size=_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    except (NotFoundError, FileNotFoundError):
        return None
    except (BaseError, OSError) as error:
        raise _of_obstore(where, error) from error
    if size != announced:
        raise _unavailable(where, f"{size} bytes where {announced} were announced")
    return Stored(size_bytes=size, sha256=digest.hexdigest())


def _get(
    store: ObstoreS3, uri: str, prefix: str, info: ObjectInfo, slow_get: Callable[[ObjectInfo], Body]
) -> View | HeadraceError:
    def slowly() -> View:
        body = slow_get(info)
        return View(data=body.data, etag=body.etag)

    try:
        if _is_odd(prefix + info.key) or not may_use_obstore():
            return slowly()
        try:
            return patiently(lambda: _get_once(store, f"{uri}/{info.key}", prefix + info.key, info))
        except (InvalidPathError, ValueError):  # a key obstore cannot spell
            return slowly()
    except HeadraceError as error:
        return error


def _get_once(store: ObstoreS3, where: str, key: str, info: ObjectInfo) -> View:
    options: Any = {"if_match": f'"{info.etag}"'}
    try:
        data = memoryview(obstore.get(store, key, options=options).bytes())
    except PreconditionError as error:
        raise changed(where, info.etag, "another ETag") from error
    except InvalidPathError:
        raise
    except (BaseError, OSError) as error:  # some of obstore's errors are Python's own, such as FileNotFoundError
        raise _of_obstore(where, error) from error
    if len(data) != info.size_bytes:
        raise _unavailable(where, f"{len(data)} bytes where {info.size_bytes} were listed")
    return View(data=data, etag=info.etag)


def _is_odd(key: str) -> bool:
    """Keys obstore refuses or silently normalises."""
    if not key.isprintable():
        return True
    return key.startswith("/") or key.endswith("/") or any(part in {"", ".", ".."} for part in key.split("/"))


def _of_obstore(where: str, error: Exception) -> HeadraceError:
    if isinstance(error, NotFoundError | FileNotFoundError):
        return missing(where)
    if isinstance(error, PermissionDeniedError | PermissionError):
        return AccessRefused(
            where, found="access denied", expected="credentials that may do this", remedy="Check the bucket's policy."
        )
    return _unavailable(where, str(error).splitlines()[0] if str(error) else type(error).__name__)


def changed(where: str, etag: str, found: str) -> ObjectChanged:
    """The object is no longer the listed one."""
    return ObjectChanged(where, found=found, expected=f"ETag {etag}, as listed", remedy="Take a fresh listing and read again.")


def _unavailable(where: str, found: str) -> StoreUnavailable:
    return StoreUnavailable(where, found=found, expected="the whole object", remedy="Try again.")
