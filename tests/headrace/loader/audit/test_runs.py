"""Two runs side by side: the same data, or where they part and what kind of fault it is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace.lake.local import LocalStore
from headrace.loader import LoaderOptions, Place, open_loader
from headrace.loader.audit.runs import Verdict, audit_runs
from headrace.loader.errors import RecordRefused
from headrace.loader.record import HEADER, SAMPLES, STEPS

from tests.headrace.loader.audit.recordings import record
from tests.headrace.loader.releases import release, run_steps


@pytest.fixture
def options(tmp_path: Path) -> LoaderOptions:
    return LoaderOptions(seed=5, batch_size=4, window_bytes=9_000, cache_folder=tmp_path / "cache")


def recorded(
    lake: LocalStore, run: Path, options: LoaderOptions, world: int, *, steps: int = 1000, state: Any = None
) -> dict[str, int]:
    """Train with `world` ranks over so many steps; returns the state."""
    ranks = [
        open_loader(lake.uri, "numbers", options=options, place=Place(rank=rank, world_size=world), record=run)
        for rank in range(world)
    ]
    for loader in ranks:
        if state is not None:
            loader.load_state_dict(state)
    run_steps(ranks, steps)
    return ranks[0].state_dict()


def test_two_world_sizes_with_one_global_batch_saw_the_same_batches(
    lake: LocalStore, tmp_path: Path, options: LoaderOptions
) -> None:
    """Two ranks of six against three of four: 65 samples, six global batches."""
    release(lake, [13, 30, 22])
    recorded(lake, tmp_path / "a", replace(options, batch_size=6), 2)
    recorded(lake, tmp_path / "b", options, 3)

    audit = audit_runs(tmp_path / "a", tmp_path / "b")

    assert audit.verdict is Verdict.SAME_DATA
    evidence = audit.evidence
    assert (evidence.compared, evidence.different, evidence.same_batches, evidence.common_batches) == (65, 0, 6, 6)
    assert audit.facts[2:4] == (
        "65 samples compared at the same position: 0 differ.",
        "6 of 6 global batches that both runs cut alike hold the same samples.",
    )


def test_a_run_stopped_and_resumed_at_another_scale_saw_what_an_unbroken_one_saw(
    lake: LocalStore, tmp_path: Path, options: LoaderOptions
) -> None:
    """Stopped at step 3 of world 2, two steps redone by world 4 from the cursor of step 1; epoch 1 follows."""
    release(lake, [13, 30, 22])
    recorded(lake, tmp_path / "whole", options, 1)
    state = recorded(lake, tmp_path / "broken", options, 2, steps=1)
    recorded(lake, tmp_path / "broken", options, 2, steps=2, state=state)
    recorded(lake, tmp_path / "broken", options, 4, state=state)

    audit = audit_runs(tmp_path / "whole", tmp_path / "broken")

    assert audit.verdict is Verdict.SAME_DATA
    assert (audit.evidence.compared, audit.evidence.different) == (65, 0)
    assert audit.evidence.scales[1].starts == 3


@pytest.mark.parametrize("end", ["pad", "drop"])
def test_padded_and_dropped_ends_are_no_faults(lake: LocalStore, tmp_path: Path, options: LoaderOptions, end: str) -> None:
    """Stand-ins are not recorded, and what was left out by choice is not missing; over two epochs."""
    release(lake, [13, 30, 22])
    for name, world in (("a", 2), ("b", 4)):
        chosen = replace(options, end=end, batch_size=8 // world)
        ranks = [
            open_loader(lake.uri, "numbers", options=chosen, place=Place(rank=rank, world_size=world), record=tmp_path / name)
            for rank in range(world)
        ]
        for loader in ranks:
            list(loader)
            list(loader)

    assert audit_runs(tmp_path / "a", tmp_path / "b").verdict is Verdict.SAME_DATA


def test_another_seed_is_another_order(lake: LocalStore, tmp_path: Path, options: LoaderOptions) -> None:
    """The first position, step and ranks are named."""
    release(lake, [13, 30, 22])
    recorded(lake, tmp_path / "a", options, 2)
    recorded(lake, tmp_path / "b", replace(options, seed=6), 2)

    audit = audit_runs(tmp_path / "a", tmp_path / "b")

    assert audit.verdict is Verdict.DATA_DIFFER
    assert audit.evidence.different > 50
    assert audit.evidence.difference is not None
    assert audit.evidence.difference.kind == "another sample"


def test_a_corrected_sample_is_other_content_of_the_same_sample(tmp_path: Path) -> None:
    """Sample 21 was corrected between the runs: world 2 had it as rank 1 at step 2."""
    record(tmp_path / "a", world=2, steps=10)
    record(tmp_path / "b", world=4, batch=2, steps=10, content=lambda n: n + (n == 21))

    audit = audit_runs(tmp_path / "a", tmp_path / "b")

    assert audit.verdict is Verdict.DATA_DIFFER
    found = audit.evidence.difference
    assert found is not None
    assert (found.position, found.step, found.rank_first, found.rank_second) == (21, 2, 1, 1)
    assert found.kind == "other content of the same sample"
    assert audit.evidence.different == 1


def test_another_order_within_the_batches_is_the_same_data(tmp_path: Path) -> None:
    """A sampler that gives each rank a slice instead of every second sample: global batches hold the same samples."""
    record(tmp_path / "a", world=2, steps=10)
    record(tmp_path / "b", world=2, steps=10, sampler=lambda step, rank: [step * 8 + rank * 4 + k for k in range(4)])

    audit = audit_runs(tmp_path / "a", tmp_path / "b")

    assert audit.verdict is Verdict.SAME_DATA
    assert (audit.evidence.same_batches, audit.evidence.common_batches) == (10, 10)


def all_read_the_same(step: int, rank: int) -> list[int]:
    return [step * 4 + k for k in range(4)]


def one_sample_again(step: int, rank: int) -> list[int]:
    return [1_000 + rank] * 4 if step == 3 else right(step, rank)


def a_short_batch(step: int, rank: int) -> list[int]:
    return right(step, rank)[: 3 if step == 5 else 4]


def right(step: int, rank: int) -> list[int]:
    return [step * 8 + rank + 2 * k for k in range(4)]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (all_read_the_same, "40 samples came twice, first at epoch 0, position 1, rank 1"),
        (one_sample_again, "6 samples came twice, first at epoch 0, position 26, rank 0"),
        (a_short_batch, "2 positions nobody took, first at epoch 0, position 46"),
    ],
)
def test_samples_lost_or_repeated_are_found_in_one_run_alone(tmp_path: Path, fault: Any, says: str) -> None:
    """All ranks reading the same; a repeated sample; a short batch in the middle."""
    record(tmp_path / "good", world=2, steps=10)
    record(tmp_path / "bad", world=2, steps=10, sampler=fault)

    audit = audit_runs(tmp_path / "good", tmp_path / "bad")

    assert audit.verdict is Verdict.DATA_FAULTY
    assert any(says in fact for fact in audit.facts), audit.facts
    assert audit.evidence.faults[0] == ()


def test_a_rank_without_a_record_is_named(tmp_path: Path) -> None:
    """It may have read something else, or nothing."""
    record(tmp_path / "good", world=2, steps=4)
    record(tmp_path / "bad", world=2, steps=4)
    (tmp_path / "bad" / "rank-00001").rename(tmp_path / "elsewhere")

    audit = audit_runs(tmp_path / "good", tmp_path / "bad")

    assert audit.verdict is Verdict.DATA_FAULTY
    assert any("no record of rank 1" in fact for fact in audit.facts)


def norm(step: int) -> float:
    return 2.0 + np.sin(step)


def with_gradients(run: Path, *, world: int = 4, batch: int = 2, hosts: Any = None, change: Any = lambda step, rank: 0.0) -> Path:
    return record(
        run,
        world=world,
        batch=batch,
        steps=30,
        hosts=hosts,
        metrics=lambda step, rank: {"loss": 3.0 / (step + 1) + 0.01 * rank, "grad_norm": norm(step) + change(step, rank)},
    )


TWO_HOSTS = ["host-0", "host-0", "host-1", "host-1"]


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ({}, Verdict.SAME_GRADIENTS),
        ({"world": 8, "batch": 8}, Verdict.OPTIMISATION),
        ({"change": lambda step, rank: 0.5 if (step, rank) == (12, 3) else 0.0}, Verdict.SYNCHRONISATION),
        ({"hosts": TWO_HOSTS, "change": lambda step, rank: 0.5 * (step > 11 and rank > 1)}, Verdict.COMMUNICATION),
        ({"hosts": TWO_HOSTS, "change": lambda step, rank: 0.5 * (step > 11 and rank == 3)}, Verdict.SYNCHRONISATION),
        ({"hosts": ["a", "b", "c", "d"], "change": lambda step, rank: 0.5 * (rank == 3)}, Verdict.SYNCHRONISATION),
        ({"hosts": TWO_HOSTS, "change": lambda step, rank: 0.5}, Verdict.COMMUNICATION),
        ({"change": lambda step, rank: 1e-5 * 2**step}, Verdict.NUMERICS),
        ({"change": lambda step, rank: float("nan") if step == 20 else 0.0}, Verdict.NUMERICS),
    ],
    ids=["equal", "8x8", "one rank", "between hosts", "within a host", "a host each", "only across hosts", "growing", "NaN"],
)
def test_with_gradients_the_verdict_says_where_the_fault_lies(tmp_path: Path, second: dict[str, Any], verdict: Verdict) -> None:
    """The seeds' two buckets: optimisation, or the distributed run, and which part of it."""
    with_gradients(tmp_path / "small")
    with_gradients(tmp_path / "large", **second)

    assert audit_runs(tmp_path / "small", tmp_path / "large").verdict is verdict


def test_the_seeds_example_eight_workers_of_256(tmp_path: Path) -> None:
    """The global batch becomes 2048; data and gradients are in order: tune the optimizer."""
    for name, world in (("one", 1), ("eight", 8)):
        record(
            tmp_path / name,
            world=world,
            batch=256,
            steps=16 // world,
            metrics=lambda step, rank: {"loss": 1.0, "grad_norm": norm(step)},
        )

    audit = audit_runs(tmp_path / "one", tmp_path / "eight")

    assert audit.verdict is Verdict.OPTIMISATION
    assert "global batch 256 x 8 = 2048" in audit.facts[1]
    assert audit.evidence.compared == 4096


def test_a_torn_record_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    """The machine went away in the middle of a write; and the ranks were not at the same step."""
    record(tmp_path / "a", world=2, steps=10)
    record(tmp_path / "b", world=2, steps=10)
    part = tmp_path / "b" / "rank-00001" / "part-0001"
    lines = (part / STEPS).read_bytes()
    os.truncate(part / STEPS, len(lines) - 10)

    audit = audit_runs(tmp_path / "a", tmp_path / "b")

    assert (audit.verdict, audit.evidence.compared) == (Verdict.SAME_DATA, 76)


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    """An empty folder, a newer format, lost samples."""
    good = record(tmp_path / "good", world=1, steps=3)
    (tmp_path / "empty").mkdir()
    newer = record(tmp_path / "newer", world=1, steps=3)
    header = newer / "rank-00000" / "part-0001" / HEADER
    header.write_text(json.dumps(json.loads(header.read_text()) | {"format": 2}))
    short = record(tmp_path / "short", world=1, steps=3)
    os.truncate(short / "rank-00000" / "part-0001" / SAMPLES, 16)

    for folder, says in (("empty", "no recorded rank"), ("newer", "format 2"), ("short", "1 samples")):
        with pytest.raises(RecordRefused, match=says):
            audit_runs(good, tmp_path / folder)


def test_runs_without_a_common_position_are_not_called_the_same(tmp_path: Path) -> None:
    """Steps 0 to 4 of one, 5 to 9 of the other."""
    record(tmp_path / "a", world=2, steps=5)
    record(tmp_path / "b", world=2, steps=10, first_step=5)

    assert audit_runs(tmp_path / "a", tmp_path / "b").verdict is Verdict.NOTHING_IN_COMMON
