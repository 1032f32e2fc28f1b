"""Real receivers of alerts on this machine: an HTTP server for webhooks, an SMTP server for mail."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Inbox:
    """What arrived over HTTP, and which status to answer with."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.status = 200


@contextmanager
def http_receiver() -> Iterator[tuple[str, Inbox]]:
    """A receiver of posts: its address and its inbox."""
    inbox = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            inbox.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(inbox.status)
            self.end_headers()
            self.wfile.write(b"ok" if inbox.status == 200 else b"no")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", inbox
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def mail_receiver() -> Iterator[tuple[int, list[Any]]]:
    """A receiver of mail: its port and the envelopes."""
    from aiosmtpd.controller import Controller

    envelopes: list[Any] = []

    class Handler:
        async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: N802 - the library's name
            envelopes.append(envelope)
            return "250 OK"

    controller = Controller(Handler(), hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        yield controller.port, envelopes
    finally:
        controller.stop()


@contextmanager
def dead_port() -> Iterator[int]:
    """A port that is taken and where nobody answers."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
