"""Measures every Headrace task from its start to its end, and leaves the record in the lake. A listener, so DAG files need not know.

The hooks run in the task's own process. Whatever goes wrong here is logged and harms no task: measurements are not data. A try that is
killed reaches no hook; the next try's number shows it.
"""

from __future__ import annotations

import logging
import resource
import socket
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from headrace import stages
    from headrace.runs.task_record import TaskRecord

log = logging.getLogger("headrace")
_began = SimpleNamespace(at=None, cpu=0.0)


class Recorder:
    """The listener."""

    @hookimpl
    def on_task_instance_running(self, previous_state: Any, task_instance: Any) -> None:  # noqa: ARG002 - Airflow's names
        if _dataset_of(task_instance) is None:
            return
        from headrace import stages

        stages.start()
        _began.at, _began.cpu = datetime.now(UTC), _cpu_seconds()

    @hookimpl
    def on_task_instance_success(self, previous_state: Any, task_instance: Any) -> None:  # noqa: ARG002
        _end(task_instance, "success", None)

    @hookimpl
    def on_task_instance_failed(self, previous_state: Any, task_instance: Any, error: Any) -> None:  # noqa: ARG002
        state = str(getattr(task_instance.state, "value", task_instance.state))
        _end(task_instance, "retry" if state == "up_for_retry" else "failed", error)


def _end(task_instance: Any, state: str, error: Any) -> None:
    if not hasattr(task_instance, "task") or _began.at is None:
        return  # a person set the state in the UI: no process of ours ended
    began, _began.at = _began.at, None
    try:
        _leave(task_instance, state, error, began)
    except Exception:  # the task's own outcome stands, whatever became of its measurement
        log.exception("The record of this task was not kept.")


def _leave(task_instance: Any, state: str, error: Any, began: datetime) -> None:
    from headrace import stages
    from headrace.runs.stored import put_record, put_report
    from headrace.settings import lake_uri, traces_wanted
    from headrace_stores import open_store

    recorder, facts = stages.stop(), _facts(task_instance)
    if recorder is None or facts is None:
        return
    record = _record(task_instance, state, error, began, recorder)
    lake = open_store(lake_uri())
    put_record(lake, facts, record)
    ends = state == "failed" or len(task_instance.task.downstream_task_ids) == 0
    report = put_report(lake, facts) if ends else None
    if traces_wanted():
        from headrace.runs.spans import run_span, send, task_spans

        root = [] if report is None else [run_span(report)]
        if not send([*task_spans(facts, record), *root]):
            log.warning("The trace receiver did not take this task's spans.")


def _record(task_instance: Any, state: str, error: Any, began: datetime, recorder: stages.Recorder) -> TaskRecord:
    """What this process knows of the try that ends now."""
    from headrace.runs.task_record import TaskRecord

    return TaskRecord(
        task=task_instance.task_id,
        map_index=-1 if task_instance.map_index is None else task_instance.map_index,
        try_number=task_instance.try_number,
        state=state,
        began=began,
        ended=datetime.now(UTC),
        waited_seconds=_waited(task_instance, task_instance.start_date, began),
        stages=recorder.totals(),
        cpu_seconds=_cpu_seconds() - _began.cpu,
        peak_memory_bytes=_peak_memory_bytes(),
        host=socket.gethostname(),
        error=None if error is None else _short(error),
    )


def _waited(task_instance: Any, first: datetime | None, began: datetime) -> float:
    """Seconds between the try's first start and this stretch, when it resumed after a wait."""
    resumed = getattr(getattr(task_instance, "_ti_context_from_server", None), "next_method", None) is not None
    return max((began - first).total_seconds(), 0.0) if resumed and first is not None else 0.0


def _cpu_seconds() -> float:
    """Of this process and of those it started that have ended."""
    from headrace import stages

    return time.process_time() + stages.children_cpu_seconds()


def _peak_memory_bytes() -> int:
    """The largest resident size that this process or one of its children had."""
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return max(peaks) * 1024  # Linux tells it in KiB


def _short(error: Any) -> str:
    text = str(error) if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return text if len(text) <= 2000 else text[:2000] + " ..."


def _dataset_of(task_instance: Any) -> str | None:
    """The dataset that a DAG `<dataset>.<verb>` fills, None for DAGs that fill none."""
    dag = getattr(getattr(task_instance, "task", None), "dag", None)
    if dag is None or not {"root", "follows"} & set(dag.tags) or "." not in task_instance.dag_id:
        return None
    return str(task_instance.dag_id).partition(".")[0]


def _facts(task_instance: Any) -> Any:
    """Which run this is; None for a run without a partition key: nothing of it can be filed."""
    from headrace.lake.layout import PARTITION
    from headrace.runs.report import RunFacts

    dataset, run = _dataset_of(task_instance), task_instance.get_template_context()["dag_run"]
    if dataset is None or run.partition_key is None or PARTITION.fullmatch(run.partition_key) is None:
        return None
    return RunFacts(
        dataset=dataset,
        partition=run.partition_key,
        dag=task_instance.dag_id,
        run_id=run.run_id,
        kind=str(getattr(run.run_type, "value", run.run_type)),
        queued=run.start_date,
        due=_due(dataset, run.partition_key),
    )


def _due(dataset: str, partition: str) -> datetime | None:
    from datetime import date

    from headrace.runs.freshness import due_at
    from headrace.settings import declarations_folder
    from headrace.spec.load import load_declarations

    found = load_declarations(declarations_folder())
    own: dict[str, Any] = {item.name: item for item in found.datasets}
    own |= {item.name: found.root_of(item) for item in found.transforms}  # due when the objects it begins with are
    own |= {item.name: item for item in found.views}
    own |= {item.name: item for item in found.training_sets}
    return due_at(own[dataset], date.fromisoformat(partition)) if dataset in own else None


class HeadraceRecorderPlugin(AirflowPlugin):
    """Registers the listener."""

    name = "headrace_recorder"
    listeners = [Recorder()]  # noqa: RUF012 - as Airflow declares it
