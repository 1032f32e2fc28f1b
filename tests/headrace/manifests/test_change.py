"""Small documents that several runs change."""

from __future__ import annotations

from typing import Any

import pytest
from headrace.lake.local import LocalStore
from headrace.lake.store import Store
from headrace.manifests import change
from headrace.manifests.change import change_document
from headrace.manifests.errors import PublicationContended


class Racing:
    """A store in which somebody else adds one just before each of our first `times` swaps."""

    def __init__(self, store: LocalStore, times: int) -> None:
        self._store = store
        self.left = times
        self.swaps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        self.swaps += 1
        if self.left > 0:
            self.left -= 1
            add(self._store, 100)
        return self._store.swap(key, data, expected=expected)


def add(store: Store, amount: int) -> int:
    return change_document(
        store,
        "d/number.json",
        lambda number: number + amount,
        read=lambda data: 0 if data is None else int(data),
        write=lambda number: str(number).encode(),
    )


def test_a_lost_race_is_taken_again_on_the_newer_state(lake: LocalStore) -> None:
    """Two others were first, once as the document was not there yet: all three changes count."""
    assert add(Racing(lake, 2), 1) == 201
    assert lake.get("d/number.json").data == b"201"


def test_a_step_that_changes_nothing_writes_nothing(lake: LocalStore) -> None:
    """Neither where there is a document nor where there is none."""
    racing = Racing(lake, 0)

    assert add(racing, 0) == 0
    assert lake.head("d/number.json") is None
    add(racing, 5)
    assert add(racing, 0) == 5
    assert racing.swaps == 1


def test_who_is_never_first_is_told(lake: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many lost races the error names the document; what others wrote stands."""
    monkeypatch.setattr(change, "TRIES", 3)

    with pytest.raises(PublicationContended, match=r"d/number\.json.*3 lost races"):
        add(Racing(lake, 9), 1)
    assert lake.get("d/number.json").data == b"300"
