"""The tasks that join one day of a training set: one task, or, for one declared with buckets, a plan, a task a bucket, a gathering."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from airflow.sdk import task
from headrace.settings import lake_uri
from headrace.spec.training_set import TrainingSet
from wiring import policy
from wiring.inputs import source_needs
from wiring.partition import current_partition, current_run
from wiring.waiting import PartitionTask

log = logging.getLogger("headrace")


def join_tasks(training_set: TrainingSet) -> Any:
    """The output that is `{"candidate": <manifest digest>}`; the first task waits for what the day needs."""
    if training_set.buckets == 1:
        return _waiting(training_set, "join", _join).output
    planned: Any = _waiting(training_set, "plan", _plan).output

    @task(pool=policy.LAKE_POOL)
    def join(bucket: int, planned: dict[str, Any]) -> None:
        """Join the labels of one bucket; what a task of another bucket does is none of its business."""
        from headrace.features.build_buckets import join_bucket, read_plan
        from headrace_stores import open_store

        lake, day = open_store(lake_uri()), _today(training_set)
        plan = read_plan(training_set.name, day, planned["plan"], lake=lake)
        log.info(
            "%s %s: %d rows in bucket %d.", training_set.name, day, join_bucket(training_set, plan, bucket, lake=lake), bucket
        )

    @task(pool=policy.LAKE_POOL)
    def gather(planned: dict[str, Any]) -> dict[str, Any]:
        """Put the buckets together in the labels' order: the candidate."""
        from headrace.features import build_buckets
        from headrace.quality.observe import observer
        from headrace_stores import open_store

        lake, day = open_store(lake_uri()), _today(training_set)
        plan = build_buckets.read_plan(training_set.name, day, planned["plan"], lake=lake)
        observe = observer(training_set, day.isoformat())
        made = build_buckets.gather(training_set, plan, current_run(), lake=lake, observe=observe)
        log.info("%s %s: %d rows joined in %d buckets.", training_set.name, day, made.counts.samples, plan.buckets)
        return {"candidate": made.digest}

    gathered: Any = gather(planned)
    policy.documented(join).partial(planned=planned).expand(bucket=list(range(training_set.buckets))) >> gathered
    return gathered


def _waiting(training_set: TrainingSet, task_id: str, work: Callable[[TrainingSet, str], dict[str, Any]]) -> PartitionTask:
    def mature_at(partition: str) -> datetime | None:
        from headrace.features.needs import labels_known_at

        return labels_known_at(training_set, date.fromisoformat(partition))

    return PartitionTask(
        task_id=task_id,
        start=training_set.first_day,
        end=training_set.end,
        not_before=mature_at,
        needs=lambda partition: source_needs(training_set, training_set.labels.dataset, date.fromisoformat(partition)),
        work=lambda partition: work(training_set, partition),
        doc_md=work.__doc__,
        pool=policy.LAKE_POOL,
    )


def _join(training_set: TrainingSet, partition: str) -> dict[str, Any]:
    """Wait for the day's labels to be final and for what they could see, then join both: the candidate."""
    from headrace.features.build import build_candidate
    from headrace.quality.observe import observer
    from headrace_stores import open_store

    lake, observe = open_store(lake_uri()), observer(training_set, partition)
    made = build_candidate(training_set, date.fromisoformat(partition), current_run(), lake=lake, observe=observe)
    log.info("%s %s: %d rows joined.", training_set.name, partition, made.counts.samples)
    return {"candidate": made.digest}


def _plan(training_set: TrainingSet, partition: str) -> dict[str, Any]:
    """Wait for the day's labels to be final and for what they could see, then spread the labels over buckets."""
    from headrace.features.build_buckets import plan_join
    from headrace_stores import open_store

    return {"plan": plan_join(training_set, date.fromisoformat(partition), lake=open_store(lake_uri())).digest}


def _today(training_set: TrainingSet) -> date:
    return date.fromisoformat(current_partition(training_set.first_day, training_set.end))
