"""An HTTP proxy in front of an S3 server that spoils a share of the requests, each in one of six ways."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import socketserver
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlparse

FAULTS = ("503", "reset before", "reset after", "short body", "slow body", "cut head")


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, upstream: str, share: float, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        parts = urlparse(upstream)
        self.upstream = (parts.hostname or "", parts.port or 80)
        self.share = share
        self.dice = random.Random(seed)
        self.injected: Counter[str] = Counter()
        self.lock = threading.Lock()

    def fault(self) -> str | None:
        with self.lock:
            if self.dice.random() >= self.share:
                return None
            found = self.dice.choice(FAULTS)
            self.injected[found] += 1
            return found

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of the game."""


class _Handler(socketserver.BaseRequestHandler):
    server: _Server
    request: socket.socket

    def handle(self) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.request.recv(65_536)
            if not piece:
                return
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        if re.search(rb"(?im)^expect: *100-continue", head):
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        found = re.search(rb"(?im)^content-length: *(\d+)", head)
        wanted = 0 if found is None else int(found.group(1))
        while len(body) < wanted:
            body += self.request.recv(1 << 20)
        self._answer(head, body, self.server.fault())

    def _answer(self, head: bytes, body: bytes, fault: str | None) -> None:
        if fault == "503":
            self.request.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        elif fault == "reset before":
            self._reset()
        else:
            answer = self._forward(head, body)
            if fault == "reset after":
                self._reset()  # done, and the client does not know
            elif fault == "cut head":
                self.request.sendall(answer[:20])
            elif fault == "short body":
                start = answer.index(b"\r\n\r\n") + 4
                self.request.sendall(answer[: start + (len(answer) - start) // 2])
            elif fault == "slow body":
                for start in range(0, len(answer), len(answer) // 5 + 1):
                    self.request.sendall(answer[start : start + len(answer) // 5 + 1])
                    time.sleep(0.03)
            else:
                self.request.sendall(answer)

    def _forward(self, head: bytes, body: bytes) -> bytes:
        lines = [line for line in head.split(b"\r\n") if not re.match(rb"(?i)(expect|connection):", line)]
        with socket.create_connection(self.server.upstream) as upstream:
            upstream.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
            pieces = []
            while piece := upstream.recv(1 << 20):
                pieces.append(piece)
        return b"".join(pieces)

    def _reset(self) -> None:
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


@contextlib.contextmanager
def spoiling(upstream: str, *, share: float, seed: int) -> Iterator[tuple[str, Counter[str]]]:
    """The proxy's URL, and how often each fault was injected so far."""
    server = _Server(upstream, share, seed)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server.injected
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
