"""From a URI to a store."""

from __future__ import annotations

from headrace.errors import SettingsError
from headrace.lake.store import Store


def open_store(uri: str) -> Store:
    """The store at `s3://bucket/prefix` or `file:///folder`. Connects on first use.

    Raises:
        SettingsError: for any other kind of URI.
    """
    scheme, separator, _ = uri.partition("://")
    if separator != "" and scheme == "s3":
        from headrace.lake.s3 import S3Store

        return S3Store.from_uri(uri)
    if separator != "" and scheme == "file":
        from headrace.lake.local import LocalStore

        return LocalStore.from_uri(uri)
    raise SettingsError(
        "store URI", found=repr(uri), expected="s3://bucket/prefix or file:///folder", remedy="Correct HEADRACE_LAKE."
    )
