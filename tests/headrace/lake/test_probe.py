"""A store that ignores conditions must not be published to."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.lake.errors import NoConditionalWrites
from headrace.lake.local import LocalStore
from headrace.lake.probe import require_conditional_writes


class Careless(LocalStore):
    """Accepts a create-only write of a key that exists, as stores do that do not know the header."""

    def put_new(self, key: str, data: bytes) -> str:
        self.delete(key)
        return super().put_new(key, data)


def test_a_store_that_ignores_the_condition_is_refused(tmp_path: Path) -> None:
    """It is named, and nothing is left behind."""
    store = Careless(tmp_path)

    with pytest.raises(NoConditionalWrites, match="overwrote"):
        require_conditional_writes(store)
    assert list(store.list()) == []
