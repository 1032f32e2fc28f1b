"""Figures over the last runs of a dataset: how long each stage takes as a rule, and what is out of the ordinary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from headrace.runs.percentiles import Percentiles, percentiles
from headrace.runs.report import RunReport
from headrace.stages import Stage


def stage_percentiles(reports: Sequence[RunReport]) -> dict[Stage, Percentiles]:
    """Seconds per stage and run, over the runs that had the stage, in the order of stages."""
    seconds: defaultdict[Stage, list[float]] = defaultdict(list)
    for report in reports:
        for stage, spent in report.stages.items():
            seconds[stage].append(spent.seconds)
    return {stage: found for stage in Stage if (found := percentiles(seconds[stage])) is not None}


def task_percentiles(reports: Sequence[RunReport]) -> dict[str, Percentiles]:
    """Seconds on a worker per task, over every instance and try, by task ID."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for report in reports:
        for record in report.records:
            seconds[record.task].append(record.seconds)
    return {task: found for task in sorted(seconds) if (found := percentiles(seconds[task])) is not None}
