"""The task that kept the others waiting, and why.

Among the instances of a mapped task, the one that took more than twice the median and at least a second more than it. The reason is the
largest part of its excess over the median instance: more tries, more waiting for storage, more computing, or neither (the host: it had
to wait for a core). With fewer than three instances there is no median worth the name, and no straggler.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from headrace.runs.task_record import TaskRecord
from headrace.stages import Stage

LEAST: Final = 3
FACTOR: Final = 2.0
LEAST_SECONDS: Final = 1.0
_COMPUTING: Final = (Stage.DECODE, Stage.TRANSFORM, Stage.COMPUTE)


@dataclass(frozen=True, kw_only=True)
class Straggler:
    """`seconds` against the instances' `median_seconds`, and the reason in a word and in a sentence."""

    task: str
    seconds: float
    median_seconds: float
    reason: str
    why: str


def find_straggler(records: Sequence[TaskRecord]) -> Straggler | None:
    """The worst straggler of a run; None when there is none. Time over all tries of an instance counts."""
    found = [one for group in _instances(records).values() if (one := _worst(group)) is not None]
    return max(found, key=lambda one: one.seconds - one.median_seconds, default=None)


@dataclass(frozen=True)
class _Instance:
    """All tries of one mapped instance."""

    name: str
    tries: tuple[TaskRecord, ...]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.tries)

    @property
    def last(self) -> TaskRecord:
        return self.tries[-1]


def _instances(records: Sequence[TaskRecord]) -> dict[str, list[_Instance]]:
    tries: defaultdict[tuple[str, int], list[TaskRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda one: one.key):
        if record.map_index >= 0:
            tries[record.task, record.map_index].append(record)
    grouped: defaultdict[str, list[_Instance]] = defaultdict(list)
    for (task, _), group in tries.items():
        grouped[task].append(_Instance(group[0].name, tuple(group)))
    return grouped


def _worst(group: list[_Instance]) -> Straggler | None:
    if len(group) < LEAST:
        return None
    slowest = max(group, key=lambda one: one.seconds)
    usual = median(one.seconds for one in group)
    if slowest.seconds < FACTOR * usual or slowest.seconds - usual < LEAST_SECONDS:
        return None
    reason, why = _reason(slowest, group)
    return Straggler(task=slowest.name, seconds=slowest.seconds, median_seconds=usual, reason=reason, why=why)


def _reason(slowest: _Instance, group: list[_Instance]) -> tuple[str, str]:
    earlier = sum(one.seconds for one in slowest.tries[:-1])
    parts = {
        "retries": earlier - median(sum(one.seconds for one in other.tries[:-1]) for other in group),
        "input wait": _waiting(slowest.last) - median(_waiting(other.last) for other in group),
        "compute": slowest.last.cpu_seconds - median(other.last.cpu_seconds for other in group),
        "host": _other(slowest.last) - median(_other(other.last) for other in group),
    }
    reason = max(parts, key=lambda name: parts[name])
    texts = {
        "retries": f"{len(slowest.tries)} tries; the earlier ones took {earlier:.1f} s",
        "input wait": f"waited {parts['input wait']:.1f} s longer than usual for storage",
        "compute": f"computed {parts['compute']:.1f} s longer than usual: its share of the work is larger or harder",
        "host": f"{parts['host']:.1f} s on a worker neither computing nor waiting for storage: the machine was busy",
    }
    return reason, texts[reason]


def _waiting(record: TaskRecord) -> float:
    """Waiting for storage, at most the try's own time: threads wait side by side."""
    waited = sum(spent.waiting_seconds for stage, spent in record.stages.items() if stage not in _COMPUTING)
    return min(waited, record.seconds)


def _other(record: TaskRecord) -> float:
    return max(record.seconds - record.cpu_seconds - _waiting(record), 0.0)
