"""From a URI to a store."""

from __future__ import annotations

from headrace.errors import SettingsError
from headrace.lake.store import Store
from headrace.stages import current


def open_store(uri: str) -> Store:
    """The store at `s3://bucket/prefix` or `file:///folder`. Connects on first use; its calls are timed while a recorder is under way.

    Raises:
        SettingsError: for any other kind of URI.
    """
    store, recorder = _store(uri), current()
    if recorder is None:
        return store
    from headrace.lake.measured import MeasuredStore

    return MeasuredStore(store, recorder)


def _store(uri: str) -> Store:
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
