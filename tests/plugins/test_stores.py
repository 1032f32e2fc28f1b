"""Whose credentials a lake is opened with: those of the Airflow connection its URI names, and nobody else's."""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

import boto3
import pytest
from headrace.errors import SettingsError
from headrace.lake import open as library
from headrace.lake.errors import AccessRefused
from headrace.lake.s3 import S3Store

from tests.dags.conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "plugins"))

from headrace_stores import connection_of, open_store

ENDPOINT = "http://127.0.0.1:1"


def connection(monkeypatch: pytest.MonkeyPatch, name: str, key: str, secret: str, **extra: Any) -> None:
    """An Airflow connection, as a deployment gives one through the environment; no AWS variable beside it."""
    for variable in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_PROFILE",
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ):
        monkeypatch.delenv(variable, raising=False)
    facts = {"conn_type": "aws", "login": key, "password": secret, "extra": {"region_name": "us-east-1", **extra}}
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(facts))


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("s3://lake_keys@bucket/a/b", ("lake_keys", "s3://bucket/a/b")),
        ("s3://lake_keys@bucket", ("lake_keys", "s3://bucket")),
        ("s3://bucket/odd@prefix", (None, "s3://bucket/odd@prefix")),
        ("file:///odd@folder/lake", (None, "file:///odd@folder/lake")),
    ],
)
def test_a_connection_stands_before_the_bucket(uri: str, parts: tuple[str | None, str]) -> None:
    """As in Airflow's own object paths; an @ further on is part of a key."""
    assert connection_of(uri) == parts


def test_both_clients_are_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control and bulk sign with its keys and go to its endpoint; the store's name, which is recorded, holds neither."""
    connection(monkeypatch, "lake_keys", "its-key", "its-secret", endpoint_url=ENDPOINT)
    store = open_store("s3://lake_keys@bucket/lake")
    assert isinstance(store, S3Store)

    clients = store._connected()

    credentials = clients.control._request_signer._credentials
    assert (credentials.access_key, credentials.secret_key) == ("its-key", "its-secret")
    assert clients.control.meta.endpoint_url == ENDPOINT
    assert clients.bulk.config["endpoint"] == ENDPOINT
    assert clients.bulk.credential_provider()["access_key_id"] == "its-key"
    assert store.uri == "s3://bucket/lake"


def test_lake_and_source_may_have_different_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither session is the other's."""
    connection(monkeypatch, "lake_keys", "writes", "x")
    connection(monkeypatch, "landing_keys", "reads", "y")
    stores = open_store("s3://lake_keys@lake"), open_store("s3://landing_keys@landing")

    assert [one._connected().control._request_signer._credentials.access_key for one in stores] == ["writes", "reads"]


def test_without_one_the_standard_chain_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without Airflow."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from the chain")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "z")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    assert open_store("s3://bucket")._connected().control._request_signer._credentials.access_key == "from the chain"


def test_the_library_says_that_it_knows_no_connections() -> None:
    """`headrace` in a terminal, or a loader, that was given the tasks' URI."""
    with pytest.raises(SettingsError, match=r"s3://lake_keys@bucket/lake.*AWS_PROFILE"):
        library.open_store("s3://lake_keys@bucket/lake")


@pytest.mark.servers
def test_a_real_server_lets_the_connection_in_and_no_other(
    monkeypatch: pytest.MonkeyPatch, s3_environment: dict[str, str]
) -> None:
    """Written in one request, read in bulk and back; with a wrong secret, refused."""
    for name, value in s3_environment.items():
        monkeypatch.setenv(name, value)
    session = boto3.session.Session()
    credentials, endpoint = session.get_credentials(), session.client("s3").meta.endpoint_url
    key, secret = credentials.access_key, credentials.secret_key
    for name in s3_environment:
        monkeypatch.delenv(name)
    connection(monkeypatch, "right", key, secret, endpoint_url=endpoint)
    connection(monkeypatch, "wrong", key, "not the secret", endpoint_url=endpoint)
    prefix = uuid.uuid4().hex
    store = open_store(f"s3://right@headrace/{prefix}")

    store.put_new("a", b"1")

    assert [bytes(answer.body.data) for answer in store.get_many(store.list())] == [b"1"]
    with pytest.raises(AccessRefused):
        open_store(f"s3://wrong@headrace/{prefix}").get("a")
