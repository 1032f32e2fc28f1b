"""An S3 server without the rest of the house, for tests and benchmarks: SeaweedFS on loopback and free ports, ended with the block."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local import processes, seaweedfs
from local.environment import Layout, house_environment, write_environment
from local.errors import HouseError
from local.keys import Keys, house_keys
from local.places import Places
from local.ports import Ports, house_ports

_PATIENCE_SECONDS: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class S3Alone:
    """A server that takes objects; `environment` holds the variables under which the standard AWS chain reaches it."""

    pid: int
    ports: Ports
    keys: Keys
    environment: dict[str, str]


@contextmanager
def s3_alone(home: Path) -> Iterator[S3Alone]:
    """Start a server whose data lie below `home`, wait until it takes objects, and end it after the block.

    Raises:
        HouseError: it ended, or took none within a minute; the end of its log is told.
    """
    places = Places(home=home)
    places.create()
    keys, ports = house_keys(places.keys), house_ports(places.ports, None)
    environment = house_environment(os.environ, places, ports, keys, Layout(), cores=2)
    write_environment(places, ports, keys, environment)
    program = processes.start(seaweedfs.prepare(places, ports, keys), places, environment)
    try:
        client, deadline = seaweedfs.client(ports, keys), time.monotonic() + _PATIENCE_SECONDS
        while not seaweedfs.is_ready(client):
            if program.exit_code() is not None or time.monotonic() > deadline:
                raise HouseError(
                    "SeaweedFS", found=processes.tail(program.log), expected="a server that takes objects", remedy="Read its log."
                )
            time.sleep(0.1)
        reached = {name: value for name, value in environment.items() if name.startswith("AWS_")}
        yield S3Alone(pid=program.record.pid, ports=ports, keys=keys, environment=reached)
    finally:
        processes.stop([program], patience_seconds=10)
        seaweedfs.remove_sockets(ports)
