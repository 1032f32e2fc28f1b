"""How many cores a task may use, and that it uses them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from headrace.lake.local import LocalStore
from headrace.transforms import run as run_module
from headrace.transforms.cores import allowed_cores

from tests.headrace.transforms.build import DAY, RUN, compact, land, rows, step, transform
from tests.headrace.transforms.conftest import Project

AFFINITY = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000\n", AFFINITY),
        ("100000 100000\n", 1),
        ("150000 100000\n", 1),
        ("50000 100000\n", 1),
        ("6400000 100000\n", AFFINITY),
        ("unheard of\n", AFFINITY),
    ],
)
def test_the_control_groups_quota_bounds_the_affinity(tmp_path: Path, quota: str, cores: int) -> None:
    """Whole cores, at least one, never more than the affinity leaves."""
    (tmp_path / "cpu.max").write_text(quota)

    assert allowed_cores(tmp_path / "cpu.max") == cores


def test_without_a_control_group_the_affinity_counts(tmp_path: Path) -> None:
    """No such file."""
    assert allowed_cores(tmp_path / "cpu.max") == AFFINITY


@pytest.mark.parametrize(("declared", "processes"), [(None, 2), (1, 1)])
def test_row_groups_are_dealt_to_a_process_for_each_allowed_core(
    project: Project,
    landing: LocalStore,
    lake: LocalStore,
    monkeypatch: pytest.MonkeyPatch,
    *,
    declared: int | None,
    processes: int,
) -> None:
    """Two cores allowed are two processes beside the task's own; the declaration may ask for fewer, and one is the task itself."""
    project.write(steps="import threading\ndef f(payload):\n    return {'text': str(threading.get_native_id())}\n")
    land(landing, {f"{n}": bytes([n]) * 90_000 for n in range(10)})
    compact(landing, lake)
    monkeypatch.setattr(run_module, "allowed_cores", lambda: 2)

    manifest = run_module.run_transform(transform(step(), cores=declared), DAY, RUN, lake=lake).manifest

    threads = {row["text"] for row in rows(lake, manifest)}
    assert len(threads) == processes
    assert (str(os.getpid()) in threads) == (processes == 1)
