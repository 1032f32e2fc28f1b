"""From a URI to a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.errors import SettingsError
from headrace.lake.store import Store
from headrace.stages import current

if TYPE_CHECKING:
    from headrace.lake.s3 import S3Login


def open_store(uri: str, *, login: Callable[[], S3Login] | None = None) -> Store:
    """The store at `s3://bucket/prefix` or `file:///folder`. Connects on first use; its calls are timed while a recorder is under way.

    Args:
        login: who an S3 store is opened as, asked for on first use and again after a fork; None: the standard AWS chain decides.

    Raises:
        SettingsError: for any other kind of URI.
    """
    store, recorder = _store(uri, login), current()
    if recorder is None:
        return store
    from headrace.lake.measured import MeasuredStore

    return MeasuredStore(store, recorder)


def _store(uri: str, login: Callable[[], S3Login] | None) -> Store:
    scheme, separator, rest = uri.partition("://")
    if scheme == "s3" and "@" in rest.partition("/")[0]:
        raise SettingsError(
            "store URI",
            found=repr(uri),
            expected="s3://bucket/prefix: a connection's name means something to Airflow only",
            remedy="Leave the name and the @ out here; set AWS_PROFILE, or the other variables of the standard AWS chain.",
        )
    if separator != "" and scheme == "s3" and not rest.startswith("/") and rest != "":
        from headrace.lake.s3 import S3Store

        return S3Store.from_uri(uri, login)
    if separator != "" and scheme == "file":
        from headrace.lake.local import LocalStore

        return LocalStore.from_uri(uri)
    raise SettingsError(
        "store URI", found=repr(uri), expected="s3://bucket/prefix or file:///folder", remedy="Correct HEADRACE_LAKE."
    )
