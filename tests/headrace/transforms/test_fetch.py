"""Input shards in memory that is used again: each time the whole shard, and nothing of the one before."""

from __future__ import annotations

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import ShardEntry
from headrace.shards.write import sha256_of
from headrace.transforms import fetch as fetch_module
from headrace.transforms.fetch import Fetcher


def kept(lake: LocalStore, data: bytes) -> ShardEntry:
    """Bytes as a shard of the dataset `files`; what they hold is nobody's business here."""
    sha256 = sha256_of(data)
    lake.put_new(layout.shard("files", sha256), data)
    return ShardEntry(
        sha256=sha256, size_bytes=len(data), rows=1, row_groups=1, first_sample_id="0" * 32, last_sample_id="0" * 32
    )


@pytest.mark.parametrize("piece_bytes", [1, 3, 100])
def test_one_shard_after_another_in_the_same_place(lake: LocalStore, monkeypatch: pytest.MonkeyPatch, piece_bytes: int) -> None:
    """Longer, shorter, as long: what is given has the shard's own length, however it is cut into pieces."""
    monkeypatch.setattr(fetch_module, "PIECE_BYTES", piece_bytes)
    fetcher = Fetcher(lake, "files")
    shards = [b"seven b", b"a longer one", b"short", b"as long as12"]

    found = [fetcher.in_memory(kept(lake, data)).to_pybytes() for data in shards]

    assert found == shards
    assert fetcher.in_memory(kept(lake, b"1")).address == fetcher.in_memory(kept(lake, b"2")).address
