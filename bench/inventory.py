"""A partition of very many keys: what its inventory and plan take.

    python bench/inventory.py --keys 1000000

The listing comes from memory, so that the figures are ours and not a server's.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from headrace.lake.local import LocalStore
from headrace.lake.store import ObjectInfo
from headrace.shards.compact import plan_partition, read_plan
from headrace.shards.plan import batches
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes


class Listing:
    """A store that lists keys and nothing else."""

    uri = "memory://"

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        for number in range(self._keys):
            yield ObjectInfo(key=f"{prefix}part-{number:09d}.jpg", size_bytes=150_000, etag=f"{number:032x}", modified=now)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    keys = parser.parse_args().keys
    dataset = Dataset(name="bench", source=Source(prefix="in/", format=RawBytes()), timezone="UTC", start=date(2026, 1, 1))
    source: Any = Listing(keys)
    with tempfile.TemporaryDirectory() as folder:
        lake = LocalStore(Path(folder))
        started = time.process_time()
        plan = plan_partition(dataset, "all", source=source, lake=lake)
        planned = time.process_time()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        groups, tasks, digest = len(plan.groups), len(batches(plan)), plan.digest
        del plan
        read_plan(lake, "bench", "all", digest)
        found = {
            "keys": keys,
            "groups": groups,
            "tasks": tasks,
            "plan_cpu_seconds": round(planned - started, 1),
            "read_plan_cpu_seconds": round(time.process_time() - planned, 1),
            "peak_mb": round(peak / 1000),
            "stored_mb": round(sum(info.size_bytes for info in lake.list()) / 1e6, 1),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
