"""What every DAG and task of Headrace has in common: owner, retries by type of error, time limits, pool, tags."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule

if TYPE_CHECKING:
    from airflow.sdk.bases.decorator import Task

P = ParamSpec("P")
R = TypeVar("R")

LAKE_POOL: Final = "headrace_lake"
MAX_ACTIVE_RUNS: Final = 8


class Tag(StrEnum):
    """The tags DAGs may carry."""

    HEADRACE = "headrace"
    ROOT = "root"  # has the schedule; the one to backfill
    FOLLOWS = "follows"  # runs by itself when its inputs have a day
    MONITOR = "monitor"  # watches live data, publishes nothing
    BY_HAND = "by hand"  # a person's decision, never a schedule's
    MAINTENANCE = "maintenance"  # looks after the lake itself
    SHARDS = "shards"
    TRANSFORMS = "transforms"
    FEATURES = "features"
    TRAINING = "training"


RETRIES: Final = ExceptionRetryPolicy(
    rules=[
        RetryRule(exception="headrace.errors.FinalError", action=RetryAction.FAIL, reason="the same input fails the same way"),
        RetryRule(
            exception="headrace.errors.RetryableError",
            action=RetryAction.RETRY,
            retry_delay=timedelta(seconds=20),
            reason="another try may succeed",
        ),
    ]
)


def task_defaults(owner: str) -> dict[str, Any]:
    """`default_args` of every DAG. Errors of no known type are tried again too: a lost worker leaves none."""
    return {
        "owner": owner,
        "retries": 3,
        "retry_delay": timedelta(seconds=30),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(minutes=15),
        "retry_policy": RETRIES,
        "execution_timeout": timedelta(hours=2),
    }


def documented(work: Task[P, R]) -> Task[P, R]:
    """A task that will be mapped, with its docstring in the UI: by itself Airflow 3.3 shows that of other tasks only."""
    return work.override(doc_md=work.function.__doc__)


def tags(*more: Tag) -> list[str]:
    """The tags of one DAG."""
    return [str(tag) for tag in (Tag.HEADRACE, *more)]
