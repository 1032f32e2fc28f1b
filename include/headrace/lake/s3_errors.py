"""S3's answers translated at the edge, so that no foreign error leaves this room.

HTTP 412 means another thing for each verb (changed, already there, moved), so the caller says what it would mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from headrace.errors import HeadraceError
from headrace.lake.errors import AccessRefused, NoConditionalWrites, ObjectMissing, StoreUnavailable

T = TypeVar("T", bound=Mapping[str, Any])

_MISSING = {"404", "NoSuchKey", "NotFound"}
_REFUSED = {"403", "401", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"}
_PRECONDITION = {"412", "PreconditionFailed"}
_RACING = {"409", "ConditionalRequestConflict"}
_NOT_BUILT = {"501", "NotImplemented"}


@contextlib.contextmanager
def translated(where: str, *, on_precondition: Callable[[str], HeadraceError] | None = None) -> Iterator[None]:
    """Raise our errors for botocore's.

    Args:
        where: the object's full URI, named in the error.
        on_precondition: makes the error for HTTP 412; None where the request carries no condition.
    """
    try:
        yield
    except ClientError as error:
        raise _of_client_error(where, error, on_precondition) from error
    except (BotoCoreError, ResponseParserError, HTTPError) as error:  # the last two leak out of botocore
        raise _unavailable(where, str(error)) from error


def _of_client_error(where: str, error: ClientError, on_precondition: Callable[[str], HeadraceError] | None) -> HeadraceError:
    code = error.response.get("Error", {}).get("Code", "unknown")
    found = f"{code}: {error.response.get('Error', {}).get('Message', '')}".strip(": ")
    if code in _PRECONDITION and on_precondition is not None:
        return on_precondition(found)
    if code in _MISSING:
        return missing(where)
    if code == "NoSuchBucket":
        return ObjectMissing(where, found="no such bucket", expected="a bucket", remedy="Correct the URI, or make the bucket.")
    if code in _REFUSED:
        return AccessRefused(
            where,
            found=found,
            expected="credentials that may do this",
            remedy="Check AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE and the bucket's policy.",
        )
    if code in _NOT_BUILT:
        return NoConditionalWrites(
            where,
            found=found,
            expected="a store with conditional writes",
            remedy="Use a store that honours If-None-Match and If-Match on PUT; publication is refused on any other.",
        )
    if code in _RACING:  # says nothing about who won: the write is simply tried again
        return _unavailable(where, "409, another conditional write was under way")
    return _unavailable(where, found)


def whole(where: str, answer: T, *names: str) -> T:
    """The answer, if it has what every whole answer has.

    A connection that breaks inside the headers leaves botocore with a success and nothing in it; a listing without its end mark would
    read as an empty one. Raises `StoreUnavailable`.
    """
    lacking = [name for name in names if name not in answer]
    if lacking:
        raise _unavailable(where, f"an answer without {', '.join(lacking)}")
    return answer


def missing(where: str) -> ObjectMissing:
    """Nothing is stored under that key."""
    return ObjectMissing(where, found="no object", expected="an object", remedy="Check the key against a fresh listing.")


def _unavailable(where: str, found: str) -> StoreUnavailable:
    return StoreUnavailable(where, found=found, expected="an answer", remedy="Try again; if it lasts, look at the store.")
