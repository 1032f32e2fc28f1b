"""The seeds' slow worker: most take 180 ms per step, one takes 420 ms and spends 250 ms waiting on input."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.loader.audit.workers import Cause, audit_workers

from tests.headrace.loader.audit.recordings import record


def test_the_bottleneck_is_the_input_path_not_the_model(tmp_path: Path) -> None:
    """Rank 5 of 8, from step 40 on; its compute time is like everybody's."""
    run = record(
        tmp_path / "run",
        world=8,
        steps=100,
        times=lambda step, rank: (0.250, 0.170) if rank == 5 and step >= 40 else (0.010, 0.170),
    )

    audit = audit_workers(run)

    [slow] = audit.slow
    assert (slow.rank, slow.epoch, slow.position) == (5, 0, 40 * 32)
    assert slow.step == pytest.approx(0.420)
    assert slow.wait == pytest.approx(0.250)
    assert slow.others_step == pytest.approx(0.180)
    assert slow.cause is Cause.INPUT
    assert str(slow.cause) == "the input path, not the model"
