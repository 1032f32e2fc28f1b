"""A measured store does what the store does, and says what it took."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.lake.errors import ObjectMissing
from headrace.lake.measured import MeasuredStore
from headrace.lake.open import open_store
from headrace.stages import Stage, recording


def test_open_store_measures_only_while_somebody_records(tmp_path: Path) -> None:
    """The rooms above need not know."""
    uri = f"file://{tmp_path}"

    assert not isinstance(open_store(uri), MeasuredStore)
    with recording():
        assert isinstance(open_store(uri), MeasuredStore)


def test_each_verb_is_a_stage_with_its_bytes(tmp_path: Path) -> None:
    """Listing, reading, writing, verifying, publishing."""
    (tmp_path / "local").write_bytes(b"1234567")
    with recording() as recorder:
        store = open_store(f"file://{tmp_path / 'lake'}")
        store.put_new("a", b"123")
        store.put_file("b", tmp_path / "local")
        infos = list(store.list())
        bodies = [answer.body for answer in store.get_many(infos)]
        stored, body = store.stored("b"), store.get("a")
        with pytest.raises(ObjectMissing):
            store.get("c")
    spent = recorder.totals()

    assert [info.key for info in infos] == ["a", "b"]
    assert [len(one.data) for one in bodies] == [3, 7]  # type: ignore[union-attr]
    assert (stored is not None and stored.size_bytes, body.data) == (7, b"123")
    assert (spent[Stage.PUBLISH].times, spent[Stage.PUBLISH].bytes_out) == (1, 3)
    assert (spent[Stage.WRITE].times, spent[Stage.WRITE].bytes_out) == (1, 7)
    assert (spent[Stage.VERIFY].times, spent[Stage.VERIFY].bytes_in) == (1, 7)
    assert spent[Stage.READ].bytes_in == 13
    assert spent[Stage.LIST].times == 3  # two objects, and the end
