"""The Spark engine over Spark Connect: only queries and rows travel, to a server in a process of its own; there is no JVM to reach into.

Runs wherever pyspark, what Connect needs beside it, and Java are installed; what a user installs with `pip install 'pyspark[connect]'`.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace.features.as_of import as_of
from headrace.features.engines.spark import active_session

from tests.conformance.engines import NEW_PANDAS, lacks
from tests.conformance.test_as_of_many_worlds import VARIANTS, by_world, random_labels, random_log

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
PATIENCE_SECONDS = 240
LACKS = [lacks("spark"), *(f"{name} is not installed" for name in ("grpc", "pandas") if importlib.util.find_spec(name) is None)]

pytestmark = [
    pytest.mark.skipif(any(LACKS), reason=f"Spark Connect: {', '.join(filter(None, LACKS))}"),
    pytest.mark.timeout(600),  # a JVM, twice: the server's and its first query's code generation
    NEW_PANDAS,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Connect server on a free port of the loopback; yields its address."""
    folder = tmp_path_factory.mktemp("connect")
    port = _free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            _command(port), cwd=folder, stdout=log, stderr=log, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
        )
    try:
        _wait_for(port, process, folder / "log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.fixture
def session(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session as somebody else's code in this process leaves it: open and active, its address in no variable."""
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # as `pyspark.sql.SparkSession.builder.remote(...)` sets it
    opened = SparkSession.builder.remote(server).create()
    yield opened
    opened.stop()


def test_the_session_that_is_open_is_used(session: Any) -> None:
    """Nobody has to tell the engine where the server is."""
    assert active_session() is session


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_connect_answers_as_the_definition_does(variant: int) -> None:
    """Values, provenance and reasons, row by row, with late rows, ties, tombstones and retractions."""
    generator = np.random.default_rng(variant)
    log, labels = random_log(generator, 100), random_labels(generator, 100)

    found = as_of(labels, log, VARIANTS[variant], engine="spark")

    assert found.drop_columns(labels.schema.names).to_pylist() == by_world(labels, log, VARIANTS[variant])


def _command(port: int) -> list[str]:
    import pyspark

    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    return [
        str(submit),
        "--class",
        SERVER,
        "--master",
        "local[2]",
        *(f"--conf={name}={value}" for name, value in settings.items()),
    ]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(log.read_text()[-3000:])
        time.sleep(0.2)
