"""Which constraint binds a run, in one line: what to change first if it should be faster.

The run's wall time is split into parts that people can act on; the largest binds. Threads of one task wait side by side, so a stage's
waiting is scaled to the task's own wall time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.runs.report import RunReport
from headrace.runs.task_record import TaskRecord
from headrace.stages import Stage

_ADVICE: Final = {
    "waiting for inputs": "it waited for a day's end, a settlement or partitions it reads; nothing here makes that faster",
    "orchestration": "no task was on a worker; fewer tasks, or a faster scheduler, would help",
    "computing": "more cores or more mapped tasks would help",
    "reading": "storage answers slowly or the way to it is narrow; larger objects or a nearer store would help",
    "writing": "uploads and reading back what was written bind; a nearer store would help",
    "the host": "tasks were on a worker but neither computed nor waited for storage: starting up, or short of cores",
}
_READING: Final = (Stage.LIST, Stage.READ)
_WRITING: Final = (Stage.WRITE, Stage.VERIFY, Stage.PUBLISH)


@dataclass(frozen=True, kw_only=True)
class Binding:
    """The largest part of the run's time. `share` is of the sum of `parts`, in seconds by name."""

    constraint: str
    share: float
    parts: dict[str, float]

    @property
    def line(self) -> str:
        return (
            f"{self.constraint[0].upper()}{self.constraint[1:]} binds ({self.share:.0%} of the time): {_ADVICE[self.constraint]}."
        )


def binding(report: RunReport) -> Binding:
    """What binds this run."""
    parts = {
        "waiting for inputs": report.waited_seconds,
        "orchestration": report.between_seconds,
        "computing": 0.0,
        "reading": 0.0,
        "writing": 0.0,
        "the host": 0.0,
    }
    for record in report.records:
        for name, seconds in _of_task(record).items():
            parts[name] += seconds
    total = sum(parts.values())
    constraint = max(parts, key=lambda name: parts[name])
    return Binding(constraint=constraint, share=parts[constraint] / total if total > 0 else 0.0, parts=parts)


def _of_task(record: TaskRecord) -> dict[str, float]:
    """One task's wall time, split; waiting beyond the wall time (threads) is scaled down to it."""
    computing = min(record.cpu_seconds, record.seconds)
    reading = sum(record.stages[stage].waiting_seconds for stage in _READING if stage in record.stages)
    writing = sum(record.stages[stage].waiting_seconds for stage in _WRITING if stage in record.stages)
    room = record.seconds - computing
    scale = min(1.0, room / (reading + writing)) if reading + writing > 0 else 0.0
    reading, writing = reading * scale, writing * scale
    return {
        "computing": computing,
        "reading": reading,
        "writing": writing,
        "the host": max(room - reading - writing, 0.0),
    }
