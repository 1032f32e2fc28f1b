"""Servers and lakes for the tests: a real S3 server for those marked `servers`, a folder for the others."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore
from headrace.lake.open import open_store
from headrace.lake.store import Store
from hypothesis import HealthCheck, settings

# Properties are judged by what they find, not by how busy the machine is; and the same commit finds the same everywhere. With
# HEADRACE_EXPLORE=1 they look for new examples.
settings.register_profile(
    "headrace", deadline=None, derandomize="HEADRACE_EXPLORE" not in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("headrace")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares the running house of the week is marked, so that one process can run all of it."""
    for item in items:
        if "week" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.week)


@contextlib.contextmanager
def house_folder() -> Iterator[Path]:
    """A folder for a house, outside pytest's own.

    As root, PostgreSQL runs as another user, and every pytest that starts on the machine closes its common folder to others.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-house-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def s3_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One SeaweedFS for the session; yields the variables under which the standard AWS chain reaches it."""
    from local.s3_alone import s3_alone

    with s3_alone(tmp_path_factory.mktemp("s3")) as server:
        yield server.environment


@pytest.fixture
def s3_store(s3_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Store:
    """A fresh prefix in the real S3 server."""
    for name, value in s3_environment.items():
        monkeypatch.setenv(name, value)
    return open_store(f"s3://headrace/{uuid.uuid4().hex}")


@pytest.fixture
def lake(tmp_path: Path) -> LocalStore:
    """A fresh lake in a folder."""
    return LocalStore(tmp_path / "lake")


@pytest.fixture
def landing(tmp_path: Path) -> LocalStore:
    """A fresh place for source objects, in a folder."""
    return LocalStore(tmp_path / "landing")
