"""The production compose file: what every service must have, and that the tool itself accepts it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
FILE = REPOSITORY / "docker-compose.yaml"
ONE_SHOT = {"init"}
AIRFLOW = {"init", "api-server", "dag-processor", "scheduler", "scheduler-celery", "worker", "triggerer"}
SERVERS = AIRFLOW - {"worker"}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(FILE.read_text())["services"]
    return found


def required() -> list[str]:
    """The names in .env.example; none has a value."""
    lines = [line for line in (REPOSITORY / ".env.example").read_text().splitlines() if line and not line.startswith("#")]
    assert all(line.endswith("=") for line in lines)
    return [line.removesuffix("=") for line in lines]


def test_the_services_are(services: dict[str, Any]) -> None:
    """Two ways to run tasks, and what both need."""
    profiles = {name: service.get("profiles", []) for name, service in services.items()}

    assert profiles == {
        "postgres": [], "seaweedfs": [], "init": [], "api-server": [], "dag-processor": [], "triggerer": [],
        "scheduler": ["local"], "scheduler-celery": ["celery"], "worker": ["celery"], "redis": ["celery"],
    }  # fmt: skip


def test_each_service_is_bounded_and_watched(services: dict[str, Any]) -> None:
    """A memory limit, rotated logs, a restart, and for what stays up a health check of its own."""
    for name, service in services.items():
        assert "mem_limit" in service, name
        assert service["logging"]["options"] == {"max-size": "20m", "max-file": "5"}, name
        assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped"), name
        assert ("healthcheck" in service) == (name not in ONE_SHOT), name


def test_images_are_pinned_and_ports_stay_on_this_machine(services: dict[str, Any]) -> None:
    """No `latest`, nothing open to the network; our image runs as nobody special."""
    for name, service in services.items():
        assert re.search(r":\d+\.\d+|:\$\{HEADRACE_TAG", service["image"]), name
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert service.get("user") is None, name
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    assert dockerfile.rstrip().endswith("USER airflow")
    assert re.search(r"^FROM apache/airflow:3\.3\.2-python3\.\d+$", dockerfile, re.MULTILINE)
    assert "--require-hashes" in dockerfile


def test_executors_and_order(services: dict[str, Any]) -> None:
    """Each profile has one executor; nobody runs tasks before the api-server answers and the database is ready."""
    executors = {
        name: service["environment"].get("AIRFLOW__CORE__EXECUTOR") for name, service in services.items() if name in AIRFLOW
    }

    assert executors["scheduler"] == "LocalExecutor"
    assert executors["scheduler-celery"] == executors["worker"] == "CeleryExecutor"
    for name in ("scheduler", "scheduler-celery", "worker", "triggerer"):
        assert services[name]["depends_on"]["api-server"] == {"condition": "service_healthy"}
        assert services[name]["depends_on"]["init"] == {"condition": "service_completed_successfully"}
    assert services["worker"]["depends_on"]["redis"] == {"condition": "service_healthy"}
    assert {services[name]["environment"]["AIRFLOW__CORE__AUTH_MANAGER"].rpartition(".")[2] for name in SERVERS} == {
        "FabAuthManager"
    }


def test_a_worker_holds_neither_database_nor_signing_keys(services: dict[str, Any]) -> None:
    """What tasks run can read no session, sign no token and reach no table; the end-to-end test runs workers just so."""
    kept = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
        "AIRFLOW__CORE__FERNET_KEY",
        "AIRFLOW__API__SECRET_KEY",
        "AIRFLOW__API_AUTH__JWT_SECRET",
    }

    for name in SERVERS:
        assert kept <= set(services[name]["environment"]), name
    assert kept & set(services["worker"]["environment"]) == set()
    assert [name for name in AIRFLOW if "POSTGRES_PASSWORD" in str(services[name]["environment"])] == [
        name for name in AIRFLOW if name != "worker"
    ]
    assert [name for name in AIRFLOW if "AIRFLOW_CONN_HEADRACE_METADATA" in services[name]["environment"]] == ["api-server"]


def test_nobody_serves_logs_and_the_volume_does_not_grow(services: dict[str, Any]) -> None:
    """A finished task's log is in the store and gone from the volume."""
    for name in ("scheduler", "scheduler-celery", "worker", "triggerer"):
        assert "--skip-serve-logs" in services[name]["command"]
    for name in AIRFLOW:
        found = services[name]["environment"]
        assert found["AIRFLOW__LOGGING__REMOTE_LOGGING"] == found["AIRFLOW__LOGGING__DELETE_LOCAL_LOGS"] == "true"


def test_no_secret_has_a_default() -> None:
    """Every variable whose name is a secret's is `${NAME:?...}`, and stands in .env.example."""
    used = re.findall(r"\$\{([A-Z_0-9]+)(:[-?][^}]*)?\}", FILE.read_text())
    secret = {(name, rule[:2]) for name, rule in used if re.search(r"PASSWORD|SECRET|FERNET|ACCESS_KEY|ADMIN", name)}

    assert {rule for _, rule in secret} == {":?"}
    assert {name for name, _ in secret} == set(required())


@pytest.mark.servers
def test_the_tool_accepts_it(tmp_path: Path) -> None:
    """`docker-compose config` with every value given, and a refusal that names what is not."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed here")
    full, lacking = tmp_path / "full", tmp_path / "lacking"
    full.write_text("".join(f"{name}=x\n" for name in required()))
    lacking.write_text("".join(f"{name}=x\n" for name in required() if name != "REDIS_PASSWORD"))
    clean = {name: value for name, value in os.environ.items() if name not in required()}

    def config(env: Path) -> subprocess.CompletedProcess[str]:
        arguments = [program, "--env-file", str(env), "-f", str(FILE), "config"]
        return subprocess.run(arguments, capture_output=True, text=True, env=clean, check=False, cwd=tmp_path)

    done = config(full)
    assert done.returncode == 0, done.stderr
    made = yaml.safe_load(done.stdout)
    assert set(made["services"]) >= AIRFLOW
    assert json.dumps(made).count("redis://:x@redis:6379/0") == 4  # broker and results, of scheduler and workers
    refused = config(lacking)
    assert refused.returncode != 0
    assert "set it in .env" in refused.stderr
