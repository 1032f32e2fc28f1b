"""The client of Airflow's API: what is asked again and what is not, against a server on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from local import api
from local.api import Api
from local.errors import ApiError


@contextmanager
def answering(*statuses: int) -> Iterator[tuple[Api, list[str]]]:
    """A client of a server that logs everybody in and answers other requests with these statuses in turn, the last one for ever."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            login = self.path == "/auth/token"
            if not login:
                asked.append(f"{self.command} {self.path}")
            self.send_response(201 if login else statuses[min(len(asked), len(statuses)) - 1])
            self.end_headers()
            self.wfile.write(b'{"access_token": "t"}' if login else b'{"said": "done"}')

        do_GET = do_POST = answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Api(server.server_port, "admin", "secret"), asked
    finally:
        server.shutdown()
        server.server_close()


def test_a_read_is_asked_again_after_a_server_error() -> None:
    """A server that failed once answers the next time."""
    with answering(500, 503, 200) as (client, asked):
        assert client.get("dags") == {"said": "done"}
    assert asked == ["GET /api/v2/dags"] * 3


def test_a_read_that_fails_for_ever_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the patience is over."""
    monkeypatch.setattr(api, "_PATIENCE_SECONDS", 0.6)
    with answering(500) as (client, asked), pytest.raises(ApiError, match="500"):
        client.get("dags")
    assert len(asked) > 1


def test_a_refused_read_and_a_failed_write_are_asked_once() -> None:
    """What is refused stays refused; a write may have arrived."""
    with answering(404) as (client, asked), pytest.raises(ApiError, match="404"):
        client.get("dags/nosuch")
    assert len(asked) == 1
    with answering(500) as (client, asked), pytest.raises(ApiError, match="500"):
        client.post("dags/d/dagRuns", {})
    assert len(asked) == 1
