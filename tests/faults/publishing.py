"""One publication in a process of its own, to be killed, starved or measured."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from headrace.errors import HeadraceError
from headrace.lake.open import open_store

from tests.headrace.shards.lake_building import raw_dataset, run

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.faults.publishing", "pyarrow.parquet", "headrace.shards.compact", "headrace.lake.s3"])


def start(landing: str, lake: str, **options: Any) -> tuple[BaseProcess, Connection]:
    """Start publishing; the connection tells "started", then what came of it."""
    ours, theirs = _processes.Pipe()
    environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    process = _processes.Process(target=_publish, args=(theirs, landing, lake, environment, options))
    process.start()
    theirs.close()
    ours.recv()
    return process, ours


def _publish(told: Connection, landing: str, lake: str, environment: dict[str, str], options: dict[str, Any]) -> None:
    os.environ.update(environment)
    limit = options.pop("file_bytes", None)
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    told.send("started")
    try:
        done = run(raw_dataset(**options), open_store(landing), open_store(lake))
    except HeadraceError as error:
        told.send(error)
    else:
        told.send((done.release.number, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1000))
