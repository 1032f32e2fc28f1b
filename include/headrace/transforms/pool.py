"""All cores of the task's allowance, in bounded memory: one process a core, jobs dealt as they come free, results in order.

At most two jobs a process are under way or finished and not yet taken, so a slow consumer slows the workers and fills no memory.
A worker that dies is named with the job it died on; nothing hangs. With one core, or one job, the work is done in this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, Self

from headrace.errors import HeadraceError
from headrace.spec.transform import Transform
from headrace.stages import Stage, stage
from headrace.transforms.errors import WorkerDied
from headrace.transforms.fingerprint import Fingerprint
from headrace.transforms.job import Done, Job, runner_of

AHEAD: Final = 2
_PATIENCE_SECONDS: Final = 10.0


class Pool:
    """Processes that run jobs of one transform. `with Pool(...) as pool: for done in pool.run(jobs): ...`"""

    def __init__(self, transform: Transform, fingerprint: Fingerprint, *, cores: int) -> None:
        self._transform = transform
        self._digest = fingerprint.digest
        self._cores = cores
        self._threads = ThreadPoolExecutor(cores, thread_name_prefix="headrace-transform")
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._here = runner_of(transform, fingerprint)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self._workers:
            worker.end(at_once=error is not None)
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.wait()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Done]]:
        """The jobs and what became of them, in their order.

        Raises:
            WorkerDied: names the job.
        """
        waiting = list(jobs)
        if self._cores == 1 or len(waiting) == 1:
            for job in waiting:
                yield job, _in_stage(partial(self._here.run, job))
            return
        self._start(min(self._cores, len(waiting)))
        under_way: deque[tuple[Job, Future[Done]]] = deque()
        for job in waiting:
            under_way.append((job, self._threads.submit(self._send, job)))
            if len(under_way) >= AHEAD * self._cores:
                first, future = under_way.popleft()
                yield first, _in_stage(future.result)
        while under_way:
            first, future = under_way.popleft()
            yield first, _in_stage(future.result)

    def _start(self, count: int) -> None:
        for _ in range(count - len(self._workers)):
            worker = _Worker(self._transform, self._digest)
            self._workers.append(worker)
            self._free.put(worker)

    def _send(self, job: Job) -> Done:
        worker = self._free.get()
        try:
            return worker.run(job)
        finally:
            self._free.put(worker)


class _Worker:
    """One process and the connection to it."""

    def __init__(self, transform: Transform, digest: str) -> None:
        self._connection, theirs = Pipe()
        code = f"import sys; sys.path[:] = {sys.path!r}; from headrace.transforms.worker import serve; serve({theirs.fileno()})"
        self._process = subprocess.Popen(  # noqa: S603 - this Python, with code of our own
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},  # passed on, not read
        )
        theirs.close()
        _send(self._connection, (transform, digest))

    def run(self, job: Job) -> Done:
        _send(self._connection, job)
        try:
            answer: Any = self._connection.recv()
        except (EOFError, ConnectionError):
            raise self._died(job, _end_of(self._process.wait())) from None
        if isinstance(answer, HeadraceError):
            raise answer
        if not isinstance(answer, Done):
            raise self._died(job, str(answer))
        return answer

    def end(self, *, at_once: bool) -> None:
        """Let it go; `at_once`: do not wait for its job."""
        if at_once:
            self._process.kill()
        self._connection.close()

    def wait(self) -> None:
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _died(self, job: Job, how: str) -> WorkerDied:
        return WorkerDied(
            f"row group {job.row_group} of {job.shard}",
            found=how,
            expected="its rows transformed",
            remedy="Look for a sample that crashes native code, or give the task more memory; see docs/transforms.md.",
        )


def _in_stage(work: Callable[[], Done]) -> Done:
    with stage(Stage.TRANSFORM):
        return work()


def _send(connection: Connection, message: Any) -> None:
    try:
        connection.send(message)
    except (BrokenPipeError, ConnectionError):
        return  # it is gone; what it had to say, or how it ended, is found on receiving


def _end_of(code: int) -> str:
    return f"a process killed by signal {-code}" if code < 0 else f"a process that ended with code {code}"
