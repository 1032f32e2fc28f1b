"""A lake with a transform, for the commands that look at one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.headrace.cli.transformed import Transformed, build


@pytest.fixture(scope="session")
def transformed(tmp_path_factory: pytest.TempPathFactory) -> Transformed:
    """Built once; a test that changes it works on a copy."""
    return build(tmp_path_factory.mktemp("transformed"))


@pytest.fixture
def changing(transformed: Transformed, tmp_path: Path) -> Transformed:
    """A copy to change."""
    return transformed.copy(tmp_path / "copy")
