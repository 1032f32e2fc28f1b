"""The straggler among mapped tasks, and why it straggled."""

from __future__ import annotations

import pytest
from headrace.runs.straggler import find_straggler
from headrace.runs.task_record import TaskRecord
from headrace.stages import Stage

from tests.headrace.runs.records import record, waited


def usual(count: int = 4, **more: object) -> list[TaskRecord]:
    return [record("write", index, seconds=3, **more) for index in range(count)]


@pytest.mark.parametrize(
    ("slow", "reason"),
    [
        ([record("write", 9, seconds=20, stages=waited(Stage.READ, 17))], "input wait"),
        ([record("write", 9, seconds=20, cpu_seconds=18)], "compute"),
        ([record("write", 9, seconds=20)], "host"),
        ([record("write", 9, seconds=20, cpu_seconds=8, stages=waited(Stage.TRANSFORM, 17))], "host"),  # no storage waits in it
        ([record("write", 9, 1, seconds=14, state="retry"), record("write", 9, 2, seconds=3)], "retries"),
    ],
)
def test_its_reason_is_the_largest_part_of_its_excess(slow: list[TaskRecord], reason: str) -> None:
    """Four instances take 3 s, a fifth far longer."""
    found = find_straggler([*usual(), *slow])

    assert found is not None
    assert (found.task, found.reason, found.median_seconds) == ("write[9]", reason, 3)
    assert found.seconds == sum(one.seconds for one in slow)


def test_none_stands_out() -> None:
    """Alike, barely slower, too few to tell, or not mapped at all."""
    assert find_straggler(usual()) is None
    assert find_straggler([*usual(), record("write", 9, seconds=5.9)]) is None
    assert find_straggler([record("write", 0, seconds=1), record("write", 1, seconds=99)]) is None
    assert find_straggler([record("plan", seconds=1), record("publish", seconds=99)]) is None
    assert find_straggler([record("write", index, seconds=0.1 + index * 0.2) for index in range(4)]) is None
