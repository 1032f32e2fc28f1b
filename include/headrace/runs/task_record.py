"""What one try of one task did and took. Written by the task's own process when it ends; the facts of a run report.

A try that was killed (SIGKILL, out of memory) leaves no record. The next try's number shows it: `report.py` names such a try as lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from headrace.runs.errors import RunReportRefused
from headrace.spec.canonical import instant_from, instant_text
from headrace.stages import Spent, Stage


@dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """One try of one task.

    Attributes:
        task: task ID.
        map_index: which instance of a mapped task, -1 for others.
        try_number: from 1.
        state: success, failed, or retry (failed, and will be tried again).
        began, ended: of the try's last stretch on a worker.
        waited_seconds: off the worker before that, for an instant or for partitions.
        stages: time per stage.
        cpu_seconds: of the whole process, its threads and the processes it waited for included.
        peak_memory_bytes: the largest resident size of the process, or of one it waited for.
        host: where it ran.
        error: the error's text, None when there was none.
    """

    task: str
    map_index: int
    try_number: int
    state: str
    began: datetime
    ended: datetime
    waited_seconds: float = 0.0
    stages: Mapping[Stage, Spent] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    host: str = ""
    error: str | None = None

    @property
    def name(self) -> str:
        """`write[3]`, or `plan`."""
        return self.task if self.map_index < 0 else f"{self.task}[{self.map_index}]"

    @property
    def key(self) -> tuple[str, int, int]:
        return self.task, self.map_index, self.try_number

    @property
    def seconds(self) -> float:
        """On a worker."""
        return (self.ended - self.began).total_seconds()

    @property
    def bytes_in(self) -> int:
        return sum(spent.bytes_in for stage, spent in self.stages.items() if stage is not Stage.VERIFY)

    @property
    def bytes_out(self) -> int:
        return sum(spent.bytes_out for spent in self.stages.values())

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        stages = {str(stage): asdict(spent) for stage, spent in self.stages.items()}
        return {**asdict(self), "began": instant_text(self.began), "ended": instant_text(self.ended), "stages": stages}

    @classmethod
    def from_plain(cls, where: str, fields: Mapping[str, Any]) -> TaskRecord:
        """The inverse of `plain`. Raises `RunReportRefused`, naming `where`."""
        try:
            stages = {Stage(name): Spent(**spent) for name, spent in fields["stages"].items()}
            began, ended = instant_from(fields["began"]), instant_from(fields["ended"])
            return cls(**{**fields, "stages": stages, "began": began, "ended": ended})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunReportRefused(
                where,
                found=f"{type(error).__name__}: {error}",
                expected="the record of a task",
                remedy="Delete the object: it is a measurement, and nothing depends on it.",
            ) from error
