"""What resuming costs in a release of 10,000,000 samples of 500 bytes: seconds to the first batch of a new loader in the middle of it.

python -m bench.loader_resume /tmp/bench/large /tmp/bench/large-cache
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.loader_epoch import cpu_seconds
from bench.loader_peers import SEED

RESUMED_SHARDS = 50


def resume(source: str, cache: str) -> dict[str, Any]:
    """Ours alone: a release of 10,000,000 samples of 500 bytes, resumed in the middle by a new loader, cache warm.

    Fifty entries of one shard of 200,000 samples stand for fifty shards: what resuming costs is the manifest, the order, one window's
    shuffle and verification, and these do not know that the bytes are the same.
    """
    import pyarrow as pa
    from headrace.lake.open import open_store
    from headrace.loader import LoaderOptions, open_loader
    from headrace.manifests.manifest import Counts, Manifest
    from headrace.manifests.promote import promote, write_candidate
    from headrace.manifests.read import latest
    from headrace.shards.table import write_table

    lake = open_store(f"file://{source}")
    if latest(lake, "large") is None:
        rows = [{"id": n, "label": n % 10, "payload": os.urandom(400)} for n in range(200_000)]
        written = write_table(lake, "large", pa.Table.from_pylist(rows), key=("id",), computed_from="bench", shard_bytes=10**9)
        manifest = Manifest(
            dataset="large", partition="all", shards=written.uploaded.shards * RESUMED_SHARDS, index=written.uploaded.index,
            schema=written.schema, counts=Counts(listed=1, read=1, skipped={}, quarantined={}, samples=10_000_000),
            inventory_digest="0" * 64, declaration_digest="0" * 64,
        )  # fmt: skip
        promote(lake, "large", {"all": write_candidate(lake, manifest, {})}, {})
    options = LoaderOptions(seed=SEED, batch_size=256, cache_folder=Path(cache))
    answer: dict[str, Any] = {}
    for turn in ("cold", "warm", "warm again"):
        started, before = time.perf_counter(), cpu_seconds()
        loader = open_loader(f"file://{source}", "large", options=options)
        loader.load_state_dict({**loader.state_dict(), "epoch": 3, "position": 4_999_999})
        iterator = iter(loader)
        next(iterator)
        answer[turn] = {"seconds": round(time.perf_counter() - started, 3), "cpu_seconds": round(cpu_seconds() - before, 3)}
        iterator.close()
        time.sleep(0.5)
    return {"samples": loader.length, **answer}


if __name__ == "__main__":
    print(json.dumps(resume(*sys.argv[1:])))
