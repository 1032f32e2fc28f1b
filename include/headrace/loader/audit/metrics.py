"""What the training logged beside the data, step by step: do the ranks of a run agree, and do two runs?

`grad_norm` is the norm of the gradient after synchronisation, so all ranks must log the same; `loss` is each rank's own and is averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.loader.audit.recorded import Place, Run

GRADIENT: Final = "grad_norm"
LOSS: Final = "loss"
RANKS_TOLERANCE: Final = 1e-5
"""Relative. All-reduced values are the same bits on every rank; logging may round them."""
RUNS_TOLERANCE: Final = 1e-3
"""Relative. Summing in another order moves a float32 gradient norm by less."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """The first step at which ranks of one run logged different gradients.

    `between_hosts`: ranks of one host agree with each other, ranks of different hosts do not; None when no host has two ranks.
    """

    epoch: int
    position: int
    values: dict[int, float]
    between_hosts: bool | None


@dataclass(frozen=True, kw_only=True)
class Parting:
    """The first step at which two runs' gradients differ by more than `RUNS_TOLERANCE`, and how far apart they were before."""

    epoch: int
    position: int
    first: float
    second: float
    largest_before: float
    compared_before: int


def logged(run: Run, name: str) -> dict[Place, dict[int, float]]:
    """A metric by step and rank; redone steps as they were last done."""
    found: dict[Place, dict[int, float]] = {}
    for start in run.starts:
        for part in start.parts:
            for line in part.metrics:
                place = (int(line["epoch"]), int(line["start"]))
                if name in line and start.counts(place):
                    found.setdefault(place, {})[part.rank] = float(line[name])
    return dict(sorted(found.items()))


def ranks_disagree(run: Run) -> Disagreement | None:
    """The first step whose ranks logged different gradients, None when there is none."""
    hosts = {part.rank: part.host for start in run.starts for part in start.parts}
    for (epoch, position), values in logged(run, GRADIENT).items():
        if not _agree(list(values.values()), RANKS_TOLERANCE):
            return Disagreement(epoch=epoch, position=position, values=values, between_hosts=_between_hosts(values, hosts))
    return None


def runs_part(first: Run, second: Run) -> Parting | None:
    """The first common step at which the two runs' gradients differ, None when they never do (or nothing was logged)."""
    ours, theirs = _averaged(logged(first, GRADIENT)), _averaged(logged(second, GRADIENT))
    largest, compared = 0.0, 0
    for place in sorted(ours.keys() & theirs.keys()):
        apart = _apart(ours[place], theirs[place])
        if not apart <= RUNS_TOLERANCE:
            return Parting(
                epoch=place[0],
                position=place[1],
                first=ours[place],
                second=theirs[place],
                largest_before=largest,
                compared_before=compared,
            )
        largest, compared = max(largest, apart), compared + 1
    return None


def loss_noise(run: Run) -> float | None:
    """Standard deviation of the loss's change from step to step, None below three steps."""
    losses = list(_averaged(logged(run, LOSS)).values())
    return float(np.std(np.diff(losses))) if len(losses) >= 3 else None


def _averaged(values: Mapping[Place, Mapping[int, float]]) -> dict[Place, float]:
    return {place: float(np.mean(list(ranks.values()))) for place, ranks in values.items()}


def _apart(one: float, other: float) -> float:
    """Relative difference; 0 for two NaN, infinite for one."""
    if np.isnan(one) or np.isnan(other):
        return 0.0 if np.isnan(one) and np.isnan(other) else float("inf")
    scale = max(abs(one), abs(other))
    return 0.0 if one == other or scale == 0 else abs(one - other) / scale


def _agree(values: list[float], tolerance: float) -> bool:
    return all(_apart(value, values[0]) <= tolerance for value in values)


def _between_hosts(values: Mapping[int, float], hosts: Mapping[int, str]) -> bool | None:
    groups: dict[str, list[float]] = {}
    for rank, value in values.items():
        groups.setdefault(hosts[rank], []).append(value)
    if len(groups) < 2 or all(len(group) == 1 for group in groups.values()):
        return None if len(groups) > 1 else False
    return all(_agree(group, RANKS_TOLERANCE) for group in groups.values())
