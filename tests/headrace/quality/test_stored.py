"""What is written beside a candidate is there, or the run that wrote it fails."""

from __future__ import annotations

import pytest
from headrace.errors import RetryableError
from headrace.lake.errors import ObjectMissing, StoredBytesDiffer
from headrace.lake.local import LocalStore
from headrace.lake.store import Body
from headrace.quality.stored import put


def test_b62_what_was_written_is_read_back(lake: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """B62: a store that answers yes and keeps nothing, or half, is found out by the run that published, which tries again."""
    put(lake, "d/verdicts/2013-01-01/x.html", b"page")
    put(lake, "d/verdicts/2013-01-01/x.html", b"page, judged again")
    assert lake.get("d/verdicts/2013-01-01/x.html").data == b"page, judged again"

    real = LocalStore.get
    monkeypatch.setattr(LocalStore, "get", lambda self, key: Body(data=b"pa", etag=real(self, key).etag))
    with pytest.raises(StoredBytesDiffer, match="found 2 other bytes; expected the 4 bytes just written") as caught:
        put(lake, "d/verdicts/2013-01-01/y.html", b"page")
    assert isinstance(caught.value, RetryableError)

    def lost(_self: LocalStore, key: str) -> Body:
        raise ObjectMissing(key, found="nothing", expected="an object", remedy="")

    monkeypatch.setattr(LocalStore, "get", lost)
    with pytest.raises(StoredBytesDiffer, match="found nothing"):
        put(lake, "d/verdicts/2013-01-01/z.html", b"page")


def test_two_who_judge_at_once_are_both_right(lake: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's verdict under a newer ETag is no loss of ours."""
    real = LocalStore.get
    monkeypatch.setattr(LocalStore, "get", lambda self, key: Body(data=b"theirs", etag=f"newer than {real(self, key).etag}"))

    put(lake, "d/verdicts/2013-01-01/x.html", b"ours")
