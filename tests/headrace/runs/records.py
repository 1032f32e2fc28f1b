"""Task records for the tests, with what matters named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.runs.report import RunFacts
from headrace.runs.task_record import TaskRecord
from headrace.stages import Spent, Stage

NOON = datetime(2013, 1, 4, 12, tzinfo=UTC)
FACTS = RunFacts(dataset="flights", partition="2013-01-03", dag="flights.compact", run_id="backfill__1", kind="backfill")


def record(
    task: str = "write", index: int = -1, number: int = 1, *, at: float = 0.0, seconds: float = 1.0, **more: Any
) -> TaskRecord:
    """A try that began `at` seconds after noon."""
    began = NOON + timedelta(seconds=at)
    fields = {"state": "success", "began": began, "ended": began + timedelta(seconds=seconds), "host": "one", **more}
    return TaskRecord(task=task, map_index=index, try_number=number, **fields)


def waited(stage: Stage, seconds: float, **more: Any) -> dict[Stage, Spent]:
    """A stage that only waited."""
    return {stage: Spent(seconds=seconds, times=1, first_at=NOON.timestamp(), last_at=NOON.timestamp() + seconds, **more)}
