"""A disk that takes no more: one sentence, nothing published, and the next run completes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from headrace.lake.errors import DiskFull
from headrace.lake.local import LocalStore
from headrace.manifests.read import latest

from tests.faults.publishing import start
from tests.headrace.shards.lake_building import land, raw_dataset, run


@pytest.mark.parametrize("file_bytes", [1_000, 30_000, 300_000, 900_000])
def test_a_disk_that_fills_while_writing(file_bytes: int, landing: LocalStore, lake: LocalStore, tmp_path: Path) -> None:
    """Whether the plan, an index or a shard is what does not fit; old release kept, no half object under any key."""
    dice = random.Random(0)
    land(landing, {f"{n:03d}.bin": dice.randbytes(20_000) for n in range(100)})
    first = run(raw_dataset(), landing, lake)
    land(landing, {f"{n:03d}.bin": dice.randbytes(20_000) for n in range(100)})

    process, told = start(landing.uri, lake.uri, file_bytes=file_bytes)
    error = told.recv()
    process.join()

    assert isinstance(error, DiskFull)
    assert "Free some space" in str(error)
    found = latest(lake, "d")
    assert found is not None
    assert found.release == first.release
    second = run(raw_dataset(), landing, lake)
    assert second.release.number == 2
    assert run(raw_dataset(), landing, LocalStore(tmp_path / "fresh")).manifest == second.manifest
