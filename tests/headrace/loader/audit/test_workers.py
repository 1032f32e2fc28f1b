"""Who is slow, since when, and why."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from headrace.loader.audit.workers import Cause, audit_workers
from headrace.loader.errors import RecordRefused

from tests.headrace.loader.audit.recordings import record

HOSTS = ["host-0", "host-0", "host-1", "host-1"]


def found(run: Path, **kwargs: Any) -> list[tuple[int, Cause, int]]:
    """(rank, cause, first slow step) of each slow rank."""
    record(run, world=4, steps=100, **kwargs)
    return [(one.rank, one.cause, one.position // 16) for one in audit_workers(run).slow]


def test_nobody_is_slow_when_steps_only_vary(tmp_path: Path) -> None:
    """Noise of a tenth, and one step of ten times the length on every rank in turn."""
    rng = random.Random(1)

    def times(step: int, rank: int) -> tuple[float, float]:
        return 0.01, 0.17 * rng.uniform(0.9, 1.1) * (10 if step % 40 == rank * 10 else 1)

    assert found(tmp_path / "run", times=times) == []


def test_slow_compute_on_one_rank_of_a_host_is_its_device(tmp_path: Path) -> None:
    """Its neighbour on the host is fine."""
    times = lambda step, rank: (0.01, 0.30 if rank == 2 and step >= 50 else 0.17)  # noqa: E731 - a table of one row

    assert found(tmp_path / "run", times=times, hosts=HOSTS) == [(2, Cause.COMPUTE, 50)]


def test_slow_compute_on_all_ranks_of_a_host_is_the_host(tmp_path: Path) -> None:
    """Code and data are the others'."""
    times = lambda step, rank: (0.01, 0.40 if rank >= 2 and step >= 20 else 0.17)  # noqa: E731 - a table of one row

    assert [cause for _, cause, _ in found(tmp_path / "run", times=times, hosts=HOSTS)] == [Cause.HOST, Cause.HOST]


def test_stolen_time_is_the_host(tmp_path: Path) -> None:
    """A noisy neighbour takes a third of the processor of host-1, which has one rank."""
    hosts = ["host-0", "host-0", "host-0", "host-1"]

    outcome = found(
        tmp_path / "run",
        times=lambda step, rank: (0.01, 0.26 if rank == 3 else 0.17),
        hosts=hosts,
        host_facts=lambda rank: {"steal": 0.33 if rank == 3 else 0.01},
    )

    assert outcome == [(3, Cause.HOST, 0)]


def test_a_host_whose_ranks_all_wait_is_pointed_to(tmp_path: Path) -> None:
    """The cause is input; the advice starts at the host's disk and network."""
    record(
        tmp_path / "run",
        world=6,
        steps=50,
        hosts=["host-0"] * 4 + ["host-1"] * 2,
        times=lambda step, rank: (0.25 if rank >= 4 else 0.01, 0.17),
    )

    slow = audit_workers(tmp_path / "run").slow

    assert [(one.rank, one.cause) for one in slow] == [(4, Cause.INPUT), (5, Cause.INPUT)]
    assert slow[0].advice.startswith("All ranks of host-1 wait")


def test_time_spent_waiting_for_other_ranks_is_not_a_ranks_own(tmp_path: Path) -> None:
    """In a synchronous step everybody takes as long as the slowest; what is logged as sync_seconds is taken off."""
    outcome = found(
        tmp_path / "run",
        times=lambda step, rank: (0.01, 0.40),
        metrics=lambda step, rank: {"sync_seconds": 0.0 if rank == 1 else 0.23},
        hosts=HOSTS,
    )

    assert outcome == [(1, Cause.COMPUTE, 0)]


def test_the_turn_is_found_in_noise(tmp_path: Path) -> None:
    """Noise of a tenth, slow from step 70 on: found within three steps."""
    rng = random.Random(2)

    [(rank, cause, step)] = found(
        tmp_path / "run",
        times=lambda step, rank: (
            (0.15 if rank == 0 and step >= 70 else 0.01) * rng.uniform(0.9, 1.1),
            0.17 * rng.uniform(0.9, 1.1),
        ),
        hosts=HOSTS,
    )

    assert (rank, cause) == (0, Cause.INPUT)
    assert abs(step - 70) <= 3


def test_a_run_without_times_is_refused(tmp_path: Path) -> None:
    """No step ended on every rank."""
    record(tmp_path / "run", world=2, steps=0)
    with pytest.raises(RecordRefused, match="no step that every rank timed"):
        audit_workers(tmp_path / "run")
