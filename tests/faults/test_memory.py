"""Memory is bounded by configuration, not by the size of the data."""

from __future__ import annotations

import os
import random
from pathlib import Path

from headrace.lake.local import LocalStore

from tests.faults.publishing import start
from tests.headrace.shards.lake_building import land

MEGABYTES = int(os.environ.get("HEADRACE_MEMORY_MB", "200"))
"""How large the larger partition is; 2000 in the full count."""
ALLOWED_BYTES = 40_000_000


def peak_bytes(tmp_path: Path, megabytes: int) -> int:
    landing = LocalStore(tmp_path / f"landing{megabytes}")
    dice = random.Random(0)
    for batch in range(0, megabytes, 20):
        land(landing, {f"{batch + n:06d}.bin": dice.randbytes(1_000_000) for n in range(min(20, megabytes - batch))})
    options = {"shard_bytes": 10_000_000, "row_group_bytes": 4_000_000}
    process, told = start(landing.uri, LocalStore(tmp_path / f"lake{megabytes}").uri, **options)
    found = told.recv()
    process.join()
    return int(found[1])


def test_ten_times_the_data_takes_no_more_memory(tmp_path: Path) -> None:
    """Peak memory of one process that does all of a partition."""
    small, large = peak_bytes(tmp_path, MEGABYTES // 10), peak_bytes(tmp_path, MEGABYTES)

    assert large < small + ALLOWED_BYTES
