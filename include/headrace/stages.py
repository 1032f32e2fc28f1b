"""How long a process spends in which stage of its work, told apart into waiting and computing.

    with recording() as recorder:
        with stage(Stage.READ):
            ...
    recorder.totals()

A stage opened inside another takes its time away from the outer one, so no second counts twice in one thread; threads add up. Outside
`recording` a stage costs one comparison. Standard library only and below every room, so that any of them may open a stage; the lake does
it for every call to a store (`lake/measured.py`). Computing is CPU time: what a C library burns in threads of its own is seen in the
process's total and in no stage. Processes that a stage waits for compute on its behalf; the system tells their CPU time when they have
ended, and without saying which stage started them: transforms are the one that does.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Stage(StrEnum):
    """The stages of a run, in the order bytes flow."""

    LIST = "list"
    READ = "read"
    DECODE = "decode"
    TRANSFORM = "transform"
    COMPUTE = "compute"  # what no other stage claims: CPU time outside of them
    WRITE = "write"
    VERIFY = "verify"
    PUBLISH = "publish"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Time in one stage. `seconds` is wall time over all threads, `cpu_seconds` the part of it that computed."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    times: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    first_at: float = 0.0  # seconds since the epoch
    last_at: float = 0.0

    @property
    def waiting_seconds(self) -> float:
        return max(self.seconds - self.cpu_seconds, 0.0)


@dataclass
class _Open:
    """A stage under way in one thread; `inner` is what stages inside it took."""

    stage: Stage
    wall: float
    cpu: float
    inner_wall: float = 0.0
    inner_cpu: float = 0.0


class Recorder:
    """Adds up what threads report. Made by `recording`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: dict[Stage, Spent] = {}
        self._open = threading.local()
        self._cpu_began = time.process_time()
        self._children_began = children_cpu_seconds()

    def enter(self, stage: Stage) -> None:
        self._stack().append(_Open(stage=stage, wall=time.perf_counter(), cpu=time.thread_time()))

    def leave(self) -> None:
        done = self._stack().pop()
        wall, cpu = time.perf_counter() - done.wall, time.thread_time() - done.cpu
        if self._stack():
            self._stack()[-1].inner_wall += wall
            self._stack()[-1].inner_cpu += cpu
        now = time.time()
        self._add(
            done.stage,
            Spent(
                seconds=max(wall - done.inner_wall, 0.0),
                cpu_seconds=max(cpu - done.inner_cpu, 0.0),
                times=1,
                first_at=now - wall,
                last_at=now,
            ),
        )

    def count(self, stage: Stage, *, bytes_in: int = 0, bytes_out: int = 0) -> None:
        """Bytes that a stage moved."""
        self._add(stage, Spent(bytes_in=bytes_in, bytes_out=bytes_out))

    def totals(self) -> dict[Stage, Spent]:
        """Every stage so far, in order. `compute` holds the CPU time that no stage claimed; `transform` its ended processes'."""
        with self._lock:
            spent = dict(self._spent)
        claimed = sum(one.cpu_seconds for one in spent.values())
        rest = max(time.process_time() - self._cpu_began - claimed, 0.0)
        children = children_cpu_seconds() - self._children_began
        if Stage.TRANSFORM in spent:
            spent[Stage.TRANSFORM] = _sum(spent[Stage.TRANSFORM], Spent(cpu_seconds=children))
        else:
            rest += children
        spent[Stage.COMPUTE] = _sum(spent.get(Stage.COMPUTE, Spent()), Spent(seconds=rest, cpu_seconds=rest, times=1))
        return {stage: spent[stage] for stage in Stage if stage in spent}

    def _stack(self) -> list[_Open]:
        stack: list[_Open] | None = getattr(self._open, "stack", None)
        if stack is None:
            stack = self._open.stack = []
        return stack

    def _add(self, stage: Stage, more: Spent) -> None:
        with self._lock:
            self._spent[stage] = _sum(self._spent.get(stage, Spent()), more)


def children_cpu_seconds() -> float:
    """CPU time of this process's children that have ended and were waited for, theirs included; 0 where the system does not tell."""
    spent = os.times()
    return spent.children_user + spent.children_system


class _Current:
    """The process's recorder: a task process runs one task."""

    recorder: Recorder | None = None


_CURRENT: Final = _Current()


def current() -> Recorder | None:
    """The recorder under way in this process."""
    return _CURRENT.recorder


def start() -> Recorder:
    """Begin to record in this process, forgetting an earlier recorder. For callers that cannot hold a block open."""
    _CURRENT.recorder = Recorder()
    return _CURRENT.recorder


def stop() -> Recorder | None:
    """End recording; what was recorded, None when nothing was under way."""
    recorder, _CURRENT.recorder = _CURRENT.recorder, None
    return recorder


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record this process's stages."""
    recorder = start()
    try:
        yield recorder
    finally:
        stop()


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Time spent in here belongs to this stage, if somebody records."""
    recorder = _CURRENT.recorder
    if recorder is None:
        yield
        return
    recorder.enter(name)
    try:
        yield
    finally:
        recorder.leave()


def _sum(one: Spent, other: Spent) -> Spent:
    firsts = [spent.first_at for spent in (one, other) if spent.first_at > 0]
    return Spent(
        seconds=one.seconds + other.seconds,
        cpu_seconds=one.cpu_seconds + other.cpu_seconds,
        times=one.times + other.times,
        bytes_in=one.bytes_in + other.bytes_in,
        bytes_out=one.bytes_out + other.bytes_out,
        first_at=min(firsts, default=0.0),
        last_at=max(one.last_at, other.last_at),
    )
