"""kill -9 at random instants of a publication: the old release or the new one, never half, and the next run completes."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore
from headrace.lake.store import Store
from headrace.manifests.read import latest, manifest_of
from headrace.shards.verify import verify_partition

from tests.faults.publishing import start
from tests.headrace.shards.lake_building import land, raw_dataset, run

KILLS = int(os.environ.get("HEADRACE_KILLS", "12"))
"""How many publications are killed; 200 in the full count."""


def objects(seed: int) -> dict[str, bytes]:
    dice = random.Random(seed)
    return {f"{n:03d}.bin": dice.randbytes(20_000) for n in range(150)}


def look(lake: Store) -> int:
    """Number of the release in use, everything in it checked byte by byte; 0 when there is none."""
    found = latest(lake, "d")
    if found is None:
        return 0
    for partition in found.release.partitions:
        manifest = manifest_of(lake, found.release, partition)
        assert list(verify_partition(lake, manifest)) == []
        assert manifest.counts.samples == 150
    return found.release.number


@pytest.mark.parametrize("where", ["local", pytest.param("s3", marks=pytest.mark.servers)])
def test_a_publication_killed_at_any_instant(where: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Each kill leaves a whole release or none; the last run gives what a fresh lake gives."""
    landing = LocalStore(tmp_path / "landing")
    lake: Store = LocalStore(tmp_path / "lake") if where == "local" else request.getfixturevalue("s3_store")
    dice = random.Random(os.environ.get("HEADRACE_SEED", "kill"))
    land(landing, objects(0))
    process, told = start(landing.uri, LocalStore(tmp_path / "timing").uri)
    started = time.monotonic()  # what a process takes before it starts is no part of what a kill may hit
    told.recv()
    process.join()
    usual = time.monotonic() - started
    kills = KILLS if where == "local" else max(KILLS // 4, 3)
    killed = seen = 0
    for number in range(kills):
        process, told = start(landing.uri, lake.uri)
        time.sleep(dice.uniform(0, usual))
        process.kill()
        process.join()
        killed += process.exitcode == -9

        now = look(lake)

        assert now >= seen
        if now > seen or number % 5 == 4:  # published: the next one has something to do
            land(landing, objects(number + 1))
        seen = now
    assert killed >= kills // 4, "some were still at work; how many depends on what else the machine does"

    done = run(raw_dataset(), landing, lake)

    assert look(lake) == done.release.number
    assert run(raw_dataset(), landing, LocalStore(tmp_path / "fresh")).manifest == done.manifest


def test_the_next_run_sweeps_what_a_killed_one_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work folders of the dead go; one in use stays."""
    import tempfile

    from headrace.shards.workspace import workspace

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = tmp_path / "headrace-work-dead"
    dead.mkdir()
    (dead / "lock").write_text("")
    (dead / "00000.parquet").write_bytes(b"half a shard")
    with workspace() as first, workspace() as second:
        assert not dead.exists()
        assert first.exists()
        assert second.exists()

    assert list(tmp_path.iterdir()) == []
