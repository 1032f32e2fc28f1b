"""Two runs laid side by side: sample by sample, global batch by global batch, gradient by gradient.

Samples are compared at the same position of the same epoch, whatever the world sizes; redone steps count as they were last done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headrace.loader.audit.metrics import GRADIENT, Disagreement, Parting, logged, loss_noise, ranks_disagree, runs_part
from headrace.loader.audit.recorded import Run
from headrace.loader.audit.seen import Fault, Seen, faults_of, place_of, seen_by


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first position at which two runs took different samples.

    `step`: counted in the first run's global batches from the epoch's start; `kind`: other sample, or other content of the same sample.
    """

    epoch: int
    position: int
    step: int
    rank_first: int
    rank_second: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How a run ran, as its last start did."""

    name: str
    ranks: int
    hosts: int
    batch_size: int
    starts: int
    loss_noise: float | None

    @property
    def global_batch(self) -> int:
        return self.ranks * self.batch_size


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was found.

    Attributes:
        scales: of the two runs.
        faults: of the two runs, each by itself.
        compared: samples compared, at the same epoch and position.
        different: how many of them differ.
        same_batches, common_batches: of the global batches that both runs cut alike, how many hold the same samples in any order.
        difference: the first one, None for none.
        gradients: whether both runs logged gradient norms.
        disagreement: the first step whose ranks logged different gradients, in the second run or else in the first.
        parting: the first step at which the runs' gradients part.
    """

    scales: tuple[Scale, Scale]
    faults: tuple[tuple[Fault, ...], tuple[Fault, ...]]
    compared: int
    different: int
    same_batches: int
    common_batches: int
    difference: Difference | None
    gradients: bool
    disagreement: Disagreement | None
    parting: Parting | None


def evidence_of(first: Run, second: Run) -> Evidence:
    """Compare two recorded runs."""
    ours, theirs = seen_by(first), seen_by(second)
    _, at_ours, at_theirs = np.intersect1d(ours.key, theirs.key, return_indices=True)
    different = _different(ours, theirs, at_ours, at_theirs)
    same, common = _same_batches(ours, theirs)
    disagreements = (ranks_disagree(second), ranks_disagree(first))
    return Evidence(
        scales=(_scale(first), _scale(second)),
        faults=(tuple(faults_of(first, ours)), tuple(faults_of(second, theirs))),
        compared=int(at_ours.shape[0]),
        different=int(different.sum()),
        same_batches=same,
        common_batches=common,
        difference=_first_difference(first, ours, theirs, at_ours[different], at_theirs[different]),
        gradients=bool(logged(first, GRADIENT)) and bool(logged(second, GRADIENT)),
        disagreement=next((found for found in disagreements if found is not None), None),
        parting=runs_part(first, second),
    )


def _scale(run: Run) -> Scale:
    last = run.starts[-1].parts[0]
    return Scale(
        name=run.name,
        ranks=last.world_size,
        hosts=run.hosts,
        batch_size=last.batch_size,
        starts=len(run.starts),
        loss_noise=loss_noise(run),
    )


def _different(ours: Seen, theirs: Seen, at_ours: NDArray[np.int64], at_theirs: NDArray[np.int64]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (ours.sample[at_ours] == theirs.sample[at_theirs]) & (
        ours.content[at_ours] == theirs.content[at_theirs]
    )
    return ~same


def _first_difference(
    run: Run, ours: Seen, theirs: Seen, at_ours: NDArray[np.int64], at_theirs: NDArray[np.int64]
) -> Difference | None:
    if at_ours.shape[0] == 0:
        return None
    here, there = int(at_ours[0]), int(at_theirs[0])
    epoch, position = place_of(int(ours.key[here]))
    same_sample = ours.sample[here] == theirs.sample[there]
    return Difference(
        epoch=epoch,
        position=position,
        step=position // run.global_batches[-1],
        rank_first=int(ours.rank[here]),
        rank_second=int(theirs.rank[there]),
        kind="other content of the same sample" if same_sample else "another sample",
    )


def _same_batches(ours: Seen, theirs: Seen) -> tuple[int, int]:
    """Of the global batches with the same start and size in both runs, how many hold the same set of samples."""
    mine, yours = _batches(ours), _batches(theirs)
    common = [step for step in mine if step in yours and mine[step][0] == yours[step][0]]
    return sum(mine[step] == yours[step] for step in common), len(common)


def _batches(seen: Seen) -> dict[int, tuple[int, int, int]]:
    """Step -> (samples, and two sums over them that do not depend on their order)."""
    order = np.argsort(seen.step, kind="stable")
    steps, starts, counts = np.unique(seen.step[order], return_index=True, return_counts=True)
    if steps.shape[0] == 0:
        return {}
    with np.errstate(over="ignore"):
        mixed = (seen.sample * np.uint64(0x9E3779B97F4A7C15)) ^ (seen.content * np.uint64(0xD6E8FEB86659FD93))
        squares = mixed * mixed
    sums = np.add.reduceat(mixed[order], starts).tolist(), np.add.reduceat(squares[order], starts).tolist()
    return {step: (n, a, b) for step, n, a, b in zip(steps.tolist(), counts.tolist(), *sums, strict=True)}
