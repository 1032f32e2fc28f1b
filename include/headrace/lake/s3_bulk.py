"""Reading many small objects from S3 fast.

obstore needs about a sixth of boto3's processor time per small object, so bulk reads go through it, from threads. What bounds
the reads is bytes in flight, not a count. A key obstore refuses (`//`, `.` segments) is read through boto3 instead, so every
listed key can be read.

obstore's runtime does not survive a fork, and a forked child that uses it hangs, and hangs its parent with it: they share one epoll
instance. So a process whose ancestor has used it reads through boto3, whose clients are made anew after a fork.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import obstore
from obstore.exceptions import BaseError, InvalidPathError, NotFoundError, PermissionDeniedError, PreconditionError
from obstore.store import S3Store as ObstoreS3

from headrace.errors import HeadraceError
from headrace.lake.errors import AccessRefused, ObjectChanged, StoreUnavailable
from headrace.lake.s3_errors import missing
from headrace.lake.store import Body, Fetched, ObjectInfo

BYTES_IN_FLIGHT: Final = 50 * 1024 * 1024
THREADS: Final = 32
_runtime_of: Final[set[int]] = set()
"""Processes that have started obstore's runtime: this one, or those it was forked from."""


def get_many(
    store: ObstoreS3, uri: str, prefix: str, wanted: Iterable[ObjectInfo], slow_get: Callable[[ObjectInfo], Body]
) -> Iterator[Fetched]:
    """Yield one answer per wanted object, in the order asked for, at most `BYTES_IN_FLIGHT` (or one object) ahead."""
    pending: deque[tuple[ObjectInfo, Future[Body | HeadraceError]]] = deque()
    in_flight = 0
    with ThreadPoolExecutor(THREADS, thread_name_prefix="headrace-get") as pool:
        for info in wanted:
            while pending and in_flight + info.size_bytes > BYTES_IN_FLIGHT:
                done, future = pending.popleft()
                in_flight -= done.size_bytes
                yield Fetched(wanted=done, body=future.result())
            pending.append((info, pool.submit(_get, store, uri, prefix, info, slow_get)))
            in_flight += info.size_bytes
        while pending:
            done, future = pending.popleft()
            yield Fetched(wanted=done, body=future.result())


def _get(
    store: ObstoreS3, uri: str, prefix: str, info: ObjectInfo, slow_get: Callable[[ObjectInfo], Body]
) -> Body | HeadraceError:
    where = f"{uri}/{info.key}"
    try:
        if _odd(prefix + info.key) or not _may_use_obstore():
            return slow_get(info)
        options: Any = {"if_match": f'"{info.etag}"'}
        data = obstore.get(store, prefix + info.key, options=options).bytes().to_bytes()
    except HeadraceError as error:
        return error
    except InvalidPathError:
        return slow_get(info)
    except (BaseError, OSError) as error:  # some of obstore's errors are Python's own, such as FileNotFoundError
        return _of_obstore(where, info, error)
    if len(data) != info.size_bytes:
        return _unavailable(where, f"{len(data)} bytes where {info.size_bytes} were listed")
    return Body(data=data, etag=info.etag)


def _may_use_obstore() -> bool:
    """Whether this process may start, or has started, obstore's runtime."""
    if not _runtime_of:
        _runtime_of.add(os.getpid())
    return os.getpid() in _runtime_of


def _odd(key: str) -> bool:
    """Keys obstore refuses or silently normalises."""
    return key.startswith("/") or key.endswith("/") or any(part in {"", ".", ".."} for part in key.split("/"))


def _of_obstore(where: str, info: ObjectInfo, error: Exception) -> HeadraceError:
    if isinstance(error, NotFoundError | FileNotFoundError):
        return missing(where)
    if isinstance(error, PreconditionError):
        return changed(where, info.etag, "another ETag")
    if isinstance(error, PermissionDeniedError | PermissionError):
        return AccessRefused(
            where, found="access denied", expected="credentials that may read", remedy="Check the bucket's policy."
        )
    return _unavailable(where, str(error).splitlines()[0])


def changed(where: str, etag: str, found: str) -> ObjectChanged:
    """The object is no longer the listed one."""
    return ObjectChanged(where, found=found, expected=f"ETag {etag}, as listed", remedy="Take a fresh listing and read again.")


def _unavailable(where: str, found: str) -> StoreUnavailable:
    return StoreUnavailable(where, found=found, expected="the whole object", remedy="Try again.")
