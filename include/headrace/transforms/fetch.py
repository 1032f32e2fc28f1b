"""Input shards, each fetched whole and compared with its manifest before a row of it is used.

In memory, one shard after another is put in the same place: on a virtual machine that gives memory back to its host, fresh memory for a
shard took up to three times what hashing it took.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from headrace.lake import layout
from headrace.lake.store import Store
from headrace.manifests.manifest import ShardEntry
from headrace.shards.errors import ShardDamaged

PIECE_BYTES: Final = 8_000_000
"""Fetched and hashed at once."""


class Fetcher:
    """Fetches the shards of one dataset."""

    def __init__(self, lake: Store, dataset: str) -> None:
        self._lake = lake
        self._dataset = dataset
        self._memory = pa.allocate_buffer(0)

    def in_memory(self, shard: ShardEntry) -> pa.Buffer:
        """The shard's bytes; the next call overwrites them. Raises `ShardDamaged`."""
        if self._memory.size < shard.size_bytes:
            self._memory = pa.allocate_buffer(shard.size_bytes)
        with pa.FixedSizeBufferWriter(self._memory) as sink:
            self._fetch(shard, sink)
        return self._memory.slice(0, shard.size_bytes)

    def in_file(self, shard: ShardEntry, path: Path) -> str:
        """The shard in a local file, for other processes. Returns its path. Raises `ShardDamaged`."""
        with pa.OSFile(str(path), "wb") as sink:
            self._fetch(shard, sink)
        return str(path)

    def _fetch(self, shard: ShardEntry, sink: Any) -> None:
        key, digest, size = layout.shard(self._dataset, shard.sha256), hashlib.sha256(), 0
        while size < shard.size_bytes:
            piece = self._lake.get_range(key, size, min(size + PIECE_BYTES, shard.size_bytes))
            if piece == b"":
                break  # it is shorter than its manifest says
            sink.write(piece)
            digest.update(piece)
            size += len(piece)
        if digest.hexdigest() != shard.sha256:
            raise ShardDamaged(
                f"{self._lake.uri}/{key}",
                found=f"{size} bytes with SHA-256 {digest.hexdigest()}",
                expected=f"{shard.size_bytes} bytes with SHA-256 {shard.sha256}",
                remedy=f"Restore the object, or delete it and run {self._dataset} again from its source: it is written again.",
            )
