"""A run as OpenTelemetry spans: one trace a run, a span a task, a span a stage. Opt-in (`HEADRACE_TRACES=otlp`).

Tasks run in processes of their own and know nothing of each other, so trace and root span have IDs computed from the run's name: whoever
ends the run sends the root. A stage's span reaches from its first entry to its last exit; stages interleave, so the seconds really
spent stand in its attributes. Where spans go, with which headers and how long to try, is up to the standard `OTEL_EXPORTER_OTLP_*`
variables. A receiver that does not answer costs its time-out and nothing else.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from headrace.runs.report import RunFacts, RunReport
from headrace.runs.task_record import TaskRecord

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext

_NANOS: Final = 1_000_000_000
_SCOPE: Final = "headrace.runs"


def send(spans: list[ReadableSpan]) -> bool:
    """Send finished spans over OTLP/HTTP; whether the receiver took them."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    exporter = OTLPSpanExporter()
    try:
        return exporter.export(spans) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call] # OpenTelemetry leaves it untyped


def task_spans(facts: RunFacts, record: TaskRecord) -> list[ReadableSpan]:
    """The span of one try of a task and of each of its stages."""
    task_id = f"{record.task}.{record.map_index}.{record.try_number}"
    attributes = {
        **_attributes(facts),
        "headrace.task": record.task,
        "headrace.map_index": record.map_index,
        "headrace.try": record.try_number,
        "headrace.waited_seconds": record.waited_seconds,
        "headrace.cpu_seconds": record.cpu_seconds,
        "headrace.peak_memory_bytes": record.peak_memory_bytes,
    }
    span = _span(
        record.name,
        _context(facts, task_id),
        _context(facts, ""),
        (record.began.timestamp(), record.ended.timestamp()),
        attributes,
        error=record.error if record.state != "success" else None,
    )
    return [span, *_stage_spans(facts, record, task_id)]


def _stage_spans(facts: RunFacts, record: TaskRecord, task_id: str) -> list[ReadableSpan]:
    return [
        _span(
            str(stage),
            _context(facts, f"{task_id}.{stage}"),
            _context(facts, task_id),
            (spent.first_at, spent.last_at),
            {
                "headrace.seconds": spent.seconds,
                "headrace.cpu_seconds": spent.cpu_seconds,
                "headrace.times": spent.times,
                "headrace.bytes_in": spent.bytes_in,
                "headrace.bytes_out": spent.bytes_out,
            },
        )
        for stage, spent in record.stages.items()
        if spent.first_at > 0
    ]


def run_span(report: RunReport) -> ReadableSpan:
    """The root span of a run."""
    facts = report.facts
    attributes: dict[str, Any] = {**_attributes(facts), "headrace.retries": report.retries}
    if report.samples is not None:
        attributes["headrace.samples"] = report.samples
    error = None if report.state == "success" else report.state
    times = (report.began.timestamp(), report.ended.timestamp())
    return _span(facts.dag, _context(facts, ""), None, times, attributes, error=error)


def trace_id(facts: RunFacts) -> int:
    """128 bits from the run's name."""
    return int.from_bytes(hashlib.sha256(f"{facts.dag}\n{facts.run_id}".encode()).digest()[:16])


def _context(facts: RunFacts, name: str) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags

    span = hashlib.sha256(f"{facts.dag}\n{facts.run_id}\n{name}".encode()).digest()[16:24]
    return SpanContext(
        trace_id=trace_id(facts), span_id=int.from_bytes(span), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )


def _attributes(facts: RunFacts) -> dict[str, str]:
    return {
        "headrace.dataset": facts.dataset,
        "headrace.partition": facts.partition,
        "headrace.run_id": facts.run_id,
        "headrace.run_kind": facts.kind,
    }


def _span(
    name: str,
    context: SpanContext,
    parent: SpanContext | None,
    times: tuple[float, float],
    attributes: dict[str, Any],
    *,
    error: str | None = None,
) -> ReadableSpan:
    """A finished span. `times`: start and end, seconds since the epoch."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Status, StatusCode

    return ReadableSpan(
        name=name,
        context=context,
        parent=parent,
        resource=Resource.create({"service.name": "headrace"}),
        attributes=attributes,
        status=Status(StatusCode.OK) if error is None else Status(StatusCode.ERROR, error),
        start_time=int(times[0] * _NANOS),
        end_time=int(times[1] * _NANOS),
        instrumentation_scope=InstrumentationScope(_SCOPE),
    )
