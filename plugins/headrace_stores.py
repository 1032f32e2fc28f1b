"""Stores as Airflow opens them: `s3://<connection>@bucket/prefix` is read with that Airflow connection, as in Airflow's own object paths.

The library below does not know what a connection is: it is given a session. Without a connection in the URI the standard AWS chain
decides, as on a machine without Airflow. Tasks, the triggerer and the pages all open stores through here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.lake.s3 import S3Login
    from headrace.lake.store import Store


def open_store(uri: str) -> Store:
    """The store at `s3://bucket/prefix`, `s3://connection@bucket/prefix` or `file:///folder`. Connects on first use.

    Raises `SettingsError` for any other URI; on first use whatever Airflow raises for a connection it does not have.
    """
    from headrace.lake import open as library

    connection, plain = connection_of(uri)
    return library.open_store(plain, login=None if connection is None else lambda: _login(connection))


def connection_of(uri: str) -> tuple[str | None, str]:
    """The connection a URI names, None without one, and the URI without it."""
    scheme, separator, rest = uri.partition("://")
    where, slash, path = rest.partition("/")
    connection, at, bucket = where.rpartition("@")
    return (connection, f"{scheme}{separator}{bucket}{slash}{path}") if at else (None, uri)


def _login(connection: str) -> S3Login:
    """The connection's session, with whatever role it assumes, and its endpoint."""
    from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    from headrace.lake.s3 import S3Login

    hook = AwsBaseHook(aws_conn_id=connection, client_type="s3")
    return S3Login(session=hook.get_session(), endpoint_url=hook.conn_config.get_service_endpoint_url("s3"))
