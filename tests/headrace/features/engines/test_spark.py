"""What the Spark engine says where it cannot run. That it answers rightly where it can is in `tests/conformance`."""

from __future__ import annotations

import sys

import pytest
from headrace.features.engines.spark import active_session
from headrace.features.errors import EngineMissing


def test_a_missing_package_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody shall have to know that an engine is an extra."""
    for name in ("pyspark", "pyspark.sql", "pyspark.errors"):
        monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(EngineMissing) as caught:
        active_session()

    assert caught.value.found == "no package pyspark"
    assert "pip install 'headrace[spark]'" in caught.value.remedy
