"""What S3 may answer that our own server does not: odd keys kept exactly, 409, 404 for a condition, 501, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ResponseStreamingError
from botocore.parsers import ResponseParserError
from headrace.errors import SettingsError
from headrace.lake import patience, s3_bulk, s3_errors
from headrace.lake.errors import AccessRefused, NoConditionalWrites, ObjectChanged, ObjectMissing, PointerMoved, StoreUnavailable
from headrace.lake.open import open_store
from headrace.lake.s3 import S3Store, instant
from headrace.lake.store import Store, View


def client_error(code: str, operation: str = "PutObject") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "said the store"}}, operation)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("NoSuchKey", ObjectMissing),
        ("404", ObjectMissing),
        ("AccessDenied", AccessRefused),
        ("SignatureDoesNotMatch", AccessRefused),
        ("NotImplemented", NoConditionalWrites),
        ("ConditionalRequestConflict", StoreUnavailable),
        ("SlowDown", StoreUnavailable),
        ("RequestTimeTooSkewed", StoreUnavailable),
        ("InternalError", StoreUnavailable),
    ],
)
def test_each_answer_is_one_of_our_errors(code: str, kind: type[Exception]) -> None:
    """With the object's name and the store's words."""
    with pytest.raises(kind, match="s3://b/k") as caught, s3_errors.translated("s3://b/k"):
        raise client_error(code)
    assert caught.value.__cause__ is not None


def test_a_bucket_that_is_not_there_is_named_as_such() -> None:
    """It is no missing object: the URI is wrong."""
    with pytest.raises(ObjectMissing, match="no such bucket"), s3_errors.translated("s3://b/"):
        raise client_error("NoSuchBucket", "ListObjectsV2")


def test_each_new_try_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """With what was found, and how often it will be asked again."""
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 0)
    answers = iter([StoreUnavailable("s3://b/k", found="503", expected="an answer", remedy="Try again.")])

    def ask() -> str:
        for error in answers:
            raise error
        return "done"

    assert patience.patiently(ask) == "done"
    assert [one.getMessage() for one in caplog.records] == ["s3://b/k: 503. Asking again, 1 of 5 times."]


@pytest.mark.parametrize("uri", ["s3://", "s3:///prefix"])
def test_an_s3_uri_without_a_bucket_is_refused(uri: str) -> None:
    """Before anything is asked of any server."""
    with pytest.raises(SettingsError, match="s3://bucket/prefix"):
        open_store(uri)


@pytest.mark.parametrize(
    "error",
    [ConnectionClosedError(endpoint_url="x"), ResponseStreamingError(error="cut"), ResponseParserError("no root element")],
)
def test_a_broken_connection_is_no_foreign_error(error: Exception) -> None:
    """Also those that are no BotoCoreError."""
    with pytest.raises(StoreUnavailable), s3_errors.translated("s3://b/k"):
        raise error


def test_busy_is_asked_again_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """409 says nothing about who won: the write is repeated, and then told."""
    monkeypatch.setattr(patience, "FIRST_PAUSE_SECONDS", 0)
    answers: list[Any] = ["409", "409", "done"]

    def ask() -> str:
        with s3_errors.translated("s3://b/k"):
            if answers[0] != "done":
                raise client_error(answers.pop(0))
        return str(answers[0])

    assert patience.patiently(ask) == "done"
    answers[:] = ["409"] * 99
    with pytest.raises(StoreUnavailable):
        patience.patiently(ask)
    assert len(answers) == 99 - patience.TRIES
    answers[:] = ["AccessDenied", "done"]
    with pytest.raises(AccessRefused):
        patience.patiently(ask)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store that keeps every key as it is, which SeaweedFS does not (`a//b` becomes `a/b` there). Only boto3 is answered."""
    from moto import mock_aws

    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="exact")
        yield open_store("s3://exact/lake")


ODD_KEYS = ["a//b", "/lead", "trailing//x", "./x", "../x", "a/../b", "folder/"]


def test_keys_are_read_exactly_whatever_they_hold(exact: Store) -> None:
    """Listed, and fetched in bulk, though the bulk client refuses or folds them."""
    for number, key in enumerate(ODD_KEYS):
        exact.put_new(f"in/{key}", str(number).encode())
    exact.put_new("in/tab\there", b"t")

    listed = list(exact.list("in/"))

    assert [info.key for info in listed] == sorted(f"in/{key}" for key in [*ODD_KEYS, "tab\there"])
    odd = [info for info in listed if "\t" not in info.key]
    fetched = {answer.wanted.key: bytes(answer.body.data) for answer in exact.get_many(odd) if isinstance(answer.body, View)}
    assert fetched == {f"in/{key}": str(number).encode() for number, key in enumerate(ODD_KEYS)}
    assert exact.get("in/tab\there").data == b"t"


def test_an_odd_key_that_changed_is_refused_in_bulk_too(exact: Store) -> None:
    """The slow way has the same condition."""
    etag = exact.put_new("in/a//b", b"1")
    listed = list(exact.list("in/"))
    exact.swap("in/a//b", b"2", expected=etag)

    (answer,) = exact.get_many(listed)

    assert isinstance(answer.body, ObjectChanged)


def test_a_condition_on_a_key_that_is_gone_is_a_moved_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers 404 there, not 412."""
    store = S3Store("b")
    monkeypatch.setattr(store, "_put", lambda *_: (_ for _ in ()).throw(s3_errors.missing("s3://b/p")))

    with pytest.raises(PointerMoved, match="no object"):
        store.swap("p", b"1", expected="e")


def test_an_upload_has_never_more_than_ten_thousand_parts() -> None:
    """Parts grow with the object; small ones have the usual size."""
    assert s3_bulk.part_bytes(200_000_000) == s3_bulk.PART_BYTES
    for size in (4 * 2**30, 5 * 2**40):
        assert -(-size // s3_bulk.part_bytes(size)) <= 10_000


def test_checksums_other_stores_choke_on_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the standard variables; what was written is read back whatever they say."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    for name in ("REQUEST_CHECKSUM_CALCULATION", "RESPONSE_CHECKSUM_VALIDATION"):
        monkeypatch.setenv(f"AWS_{name}", "when_required")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    config: Any = S3Store("b")._connected().control.meta.config

    assert (config.request_checksum_calculation, config.response_checksum_validation) == ("when_required", "when_required")


def test_a_machine_without_credentials_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first use, by the store's name, and nothing of botocore's or obstore's comes through."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    with pytest.raises(AccessRefused, match="s3://b: found no credentials"):
        S3Store("b").get("k")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T05:06:07Z", datetime(2026, 3, 1, 5, 6, 7, tzinfo=UTC)),
        ("2026-03-01T05:06:07.123Z", datetime(2026, 3, 1, 5, 6, 7, 123_000, tzinfo=UTC)),
        ("2026-03-01T05:06:07.123456789Z", datetime(2026, 3, 1, 5, 6, 7, 123_456, tzinfo=UTC)),
        ("Sun, 01 Mar 2026 05:06:07 GMT", datetime(2026, 3, 1, 5, 6, 7, tzinfo=UTC)),
        ("1772341567", datetime(2026, 3, 1, 5, 6, 7, tzinfo=UTC)),
        (1772341567, datetime(2026, 3, 1, 5, 6, 7, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_every_form_that_servers_write(text: str | int, expected: datetime) -> None:
    """Listings write ISO 8601, headers the form of HTTP, some answers seconds since the epoch."""
    assert instant(text) == expected
