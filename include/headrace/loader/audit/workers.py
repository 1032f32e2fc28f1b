"""Who is slow, since when, and why: input, compute, or the host.

A step's own time is waiting for input plus working, less the time a rank logs as spent waiting for the others (`sync_seconds`). Each
rank is held against the median of the other ranks at the same step. When it turned slow is where the running sum of its excess turns
upwards (CUSUM); what part of the excess is waiting says why. A rank that computes slowly on data like everybody's is a host or systems
matter; that its host is to blame is said when all ranks of the host are slow, or when the host reports stolen time or pressure beyond
the others'.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headrace.loader.audit.recorded import Place, Run, recorded_run
from headrace.loader.errors import RecordRefused

SLOW_SHARE: Final = 0.2
"""A rank is slow when its steps take this much longer than the others'."""
_FEWEST_STEPS: Final = 5
_HOST_EXCESS: Final = 0.1

Seconds = NDArray[np.float64]


class Cause(StrEnum):
    """Why a rank is slow."""

    INPUT = "the input path, not the model"
    COMPUTE = "compute"
    HOST = "the host"


@dataclass(frozen=True, kw_only=True)
class RankTimes:
    """One rank's median step, in seconds. `step` = `wait` + `work`."""

    rank: int
    host: str
    steps: int
    step: float
    wait: float
    work: float


@dataclass(frozen=True, kw_only=True)
class Slow:
    """One slow rank.

    Attributes:
        rank, host: who.
        epoch, position: since when: the first slow step.
        steps: how many of its steps are slow.
        step, wait: its median step and wait since then, in seconds.
        others_step, others_wait: the others' at the same steps.
        cause, advice: why, and what to do.
    """

    rank: int
    host: str
    epoch: int
    position: int
    steps: int
    step: float
    wait: float
    others_step: float
    others_wait: float
    cause: Cause
    advice: str


@dataclass(frozen=True, kw_only=True)
class WorkersAudit:
    """All ranks, slowest first, and those that are slow."""

    ranks: tuple[RankTimes, ...]
    slow: tuple[Slow, ...]


@dataclass(frozen=True, kw_only=True)
class _Timeline:
    """Ranks by steps: `wait` and `work` of shape (ranks, steps); host facts per rank."""

    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    places: tuple[Place, ...]
    wait: Seconds
    work: Seconds
    steal: Seconds
    pressure: Seconds

    @property
    def step(self) -> Seconds:
        return self.wait + self.work


def audit_workers(folder: Path) -> WorkersAudit:
    """Look at the last start of a recorded run. Raises `RecordRefused` when no step was timed on all its ranks."""
    timeline = _timeline(recorded_run(folder))
    slow = [found for n in range(len(timeline.ranks)) if (found := _slow(timeline, n)) is not None]
    times = [
        RankTimes(
            rank=rank,
            host=timeline.hosts[n],
            steps=len(timeline.places),
            step=float(np.median(timeline.step[n])),
            wait=float(np.median(timeline.wait[n])),
            work=float(np.median(timeline.work[n])),
        )
        for n, rank in enumerate(timeline.ranks)
    ]
    return WorkersAudit(ranks=tuple(sorted(times, key=lambda one: -one.step)), slow=tuple(slow))


def _timeline(run: Run) -> _Timeline:
    """The steps that every rank of the last start timed."""
    parts = sorted(run.starts[-1].parts, key=lambda part: part.rank)
    timed = [{(line["epoch"], line["start"]): line for line in part.times} for part in parts]
    synced = [
        {(line["epoch"], line["start"]): line["sync_seconds"] for line in part.metrics if "sync_seconds" in line}
        for part in parts
    ]
    places = sorted(set.intersection(*(set(lines) for lines in timed)))
    if not places:
        raise RecordRefused(
            run.name, found="no step that every rank timed", expected="at least one", remedy="Let the run take a few steps."
        )
    wait = np.array([[lines[place]["wait_seconds"] for place in places] for lines in timed])
    work = np.array([[lines[place]["step_seconds"] for place in places] for lines in timed])
    sync = np.array([[lines.get(place, 0.0) for place in places] for lines in synced], dtype=np.float64)
    return _Timeline(
        ranks=tuple(part.rank for part in parts),
        hosts=tuple(part.host for part in parts),
        places=tuple(places),
        wait=wait,
        work=work - np.minimum(sync, work),
        steal=_host_facts(timed, "steal"),
        pressure=_host_facts(timed, "pressure"),
    )


def _host_facts(timed: list[dict[Place, dict[str, float]]], name: str) -> Seconds:
    """The mean of what each rank's host said, NaN where it said nothing. Shape (ranks,)."""
    values = [[line[name] for line in lines.values() if name in line] for lines in timed]
    return np.array([np.mean(found) if found else np.nan for found in values])


def _slow(timeline: _Timeline, n: int) -> Slow | None:
    if len(timeline.ranks) < 2:
        return None
    others = np.arange(len(timeline.ranks)) != n
    usual = np.median(timeline.step[others], axis=0)
    first = _turn(timeline.step[n] - usual)
    mine, theirs = timeline.step[n, first:], usual[first:]
    if mine.shape[0] < _FEWEST_STEPS or not np.median(mine - theirs) > SLOW_SHARE * np.median(theirs):
        return None
    wait, usual_wait = timeline.wait[n, first:], np.median(timeline.wait[others], axis=0)[first:]
    cause, advice = _cause(timeline, n, first, float(np.median(mine - theirs)), float(np.median(wait - usual_wait)))
    epoch, position = timeline.places[first]
    return Slow(
        rank=timeline.ranks[n],
        host=timeline.hosts[n],
        epoch=epoch,
        position=position,
        steps=int(mine.shape[0]),
        step=float(np.median(mine)),
        wait=float(np.median(wait)),
        others_step=float(np.median(theirs)),
        others_wait=float(np.median(usual_wait)),
        cause=cause,
        advice=advice,
    )


def _turn(excess: Seconds) -> int:
    """The step from which on the excess is high: where the sum of (excess - half its high level) is lowest."""
    middle = np.percentile(excess, 90) / 2
    return int(np.argmin(np.concatenate([[0.0], np.cumsum(excess - middle)])[:-1]))


def _cause(timeline: _Timeline, n: int, first: int, excess: float, waiting: float) -> tuple[Cause, str]:
    host = timeline.hosts[n]
    neighbours = [m for m, other in enumerate(timeline.hosts) if other == host]
    if waiting >= excess / 2:
        together = len(neighbours) > 1 and all(_waits(timeline, m, first) for m in neighbours)
        where = f"All ranks of {host} wait: look at its disk and network first. " if together else ""
        return Cause.INPUT, where + "Reduce preprocessing on this rank, give the loader more workers, prefetch_bytes or cache."
    if _loaded(timeline, n):
        return (
            Cause.HOST,
            f"{host} reports stolen time or pressure beyond the others': cordon it and move the rank to a fresh node.",
        )
    if len(neighbours) > 1 and all(_works_slowly(timeline, m, first) for m in neighbours) and len(set(timeline.hosts)) > 1:
        return (
            Cause.HOST,
            f"All ranks of {host} compute slowly on the same code and data: cordon it and move them to a fresh node.",
        )
    if len(neighbours) == 1 and len(timeline.ranks) > 1:
        return (
            Cause.COMPUTE,
            f"The code and data are the others', so look at {host}: clocks, heat, neighbours; move the rank to tell.",
        )
    return Cause.COMPUTE, f"Other ranks of {host} are not slow: look at this rank's device."


def _waits(timeline: _Timeline, m: int, first: int) -> bool:
    return bool(np.median(timeline.wait[m, first:]) > SLOW_SHARE * np.median(timeline.step[:, first:]))


def _works_slowly(timeline: _Timeline, m: int, first: int) -> bool:
    elsewhere = np.array([host != timeline.hosts[m] for host in timeline.hosts])
    if not elsewhere.any():
        return False
    return bool(np.median(timeline.work[m, first:]) > (1 + SLOW_SHARE) * np.median(timeline.work[elsewhere, first:]))


def _loaded(timeline: _Timeline, n: int) -> bool:
    others = np.array([host != timeline.hosts[n] for host in timeline.hosts])
    for facts in (timeline.steal, timeline.pressure):
        known = facts[others & ~np.isnan(facts)]
        if known.shape[0] > 0 and facts[n] - np.median(known) > _HOST_EXCESS:
            return True
    return False
