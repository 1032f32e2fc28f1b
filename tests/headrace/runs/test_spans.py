"""Spans over OTLP/HTTP to a real receiver: one trace a run, whichever process sends."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from headrace.runs.report import merge
from headrace.runs.spans import run_span, send, task_spans, trace_id
from headrace.stages import Stage

from tests.headrace.runs.records import FACTS, NOON, record, waited


@dataclass
class Receiver:
    """An OTLP receiver on loopback; `spans` are what it took, `path` where they came in."""

    url: str = ""
    spans: list[Any] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    took = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            data = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = ExportTraceServiceRequest.FromString(data)
            took.paths.append(self.path)
            took.spans += [span for group in request.resource_spans for scope in group.scope_spans for span in scope.spans]
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        took.url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", took.url)
        yield took
        server.shutdown()
        thread.join()


def test_a_run_is_one_trace(receiver: Receiver) -> None:
    """Two tasks and the root, sent apart: tasks below the root, stages below their task."""
    plan = record("plan", seconds=2, stages=waited(Stage.LIST, 1.5, bytes_in=7))
    write = record("write", 3, 2, at=2, seconds=4, state="failed", error="StoreUnavailable: s3://lake/flights")
    report = merge(FACTS, [plan, write])
    assert report is not None

    assert all(send(spans) for spans in (task_spans(FACTS, plan), [*task_spans(FACTS, write), run_span(report)]))

    spans = {span.name: span for span in receiver.spans}
    root = spans["flights.compact"]
    assert set(receiver.paths) == {"/v1/traces"}
    assert {span.trace_id for span in receiver.spans} == {trace_id(FACTS).to_bytes(16)}
    assert root.parent_span_id == b""
    assert spans["plan"].parent_span_id == spans["write[3]"].parent_span_id == root.span_id
    assert spans["list"].parent_span_id == spans["plan"].span_id
    assert (root.start_time_unix_nano, root.end_time_unix_nano) == (
        int(NOON.timestamp() * 1e9),
        int((NOON.timestamp() + 6) * 1e9),
    )
    assert spans["write[3]"].status.message == "StoreUnavailable: s3://lake/flights"
    stage = {one.key: one.value for one in spans["list"].attributes}
    assert (stage["headrace.seconds"].double_value, stage["headrace.bytes_in"].int_value) == (1.5, 7)


def test_a_receiver_that_is_not_there_costs_nothing_but_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """False, no exception."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")

    assert send(task_spans(FACTS, record("plan"))) is False
