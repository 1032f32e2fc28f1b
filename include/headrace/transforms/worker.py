"""The other side of `pool.py`: a process that runs jobs until nobody sends any more.

A fresh interpreter, not a fork: the task has threads and open connections, and a fork would copy them. Nothing travels through
standard output, so a function that prints prints into the task's log.
"""

from __future__ import annotations

import traceback
from multiprocessing.connection import Connection

from headrace.errors import HeadraceError
from headrace.transforms.fingerprint import code_as_planned
from headrace.transforms.job import runner_of


def serve(descriptor: int) -> None:
    """Run what comes through the connection: first a transform and its fingerprint, then jobs. Ends when the other side is gone."""
    import pyarrow as pa

    pa.set_cpu_count(1)  # the pool has a process for every core
    with Connection(descriptor) as connection:
        try:
            transform, digest = connection.recv()
            runner = runner_of(transform, code_as_planned(transform, digest))
            while True:
                connection.send(runner.run(connection.recv()))
        except EOFError:
            return
        except HeadraceError as error:
            connection.send(error)
        except BaseException:  # noqa: BLE001 - whatever it is, the task must say it
            connection.send(traceback.format_exc())
