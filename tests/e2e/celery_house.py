"""The house as production runs it: FAB's users and roles, Redis, two Celery workers that share no folder and reach no database."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import redis

from local import components, processes
from local.api import Api
from local.environment import UI_USER
from local.house import House
from local.places import Places, write_private
from local.processes import Command, Program
from tests.receivers import free_port

REDIS: Final = "redis"
WORKERS: Final = ("worker-1", "worker-2")
PEOPLE: Final = {"viewer": "Viewer", "user": "User"}
# What a worker does without: nothing that tasks run can read Airflow's database or sign in anybody's name.
KEPT_FROM_WORKERS: Final = (
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__CORE__FERNET_KEY",
    "AIRFLOW__API__SECRET_KEY",
    "AIRFLOW__API_AUTH__JWT_SECRET",
    "AIRFLOW_CONN_HEADRACE_METADATA",  # the api-server hands it out to the task that asks for it
)


class CeleryHouse(House):
    """Started like any house; `worker-1` and `worker-2` are programs of it."""

    def __init__(self, home: Path, *, declarations: Path) -> None:
        self._redis_port, self.redis_password = free_port(), secrets.token_urlsafe(24)
        self._said_before: dict[str, int] = {}
        self.passwords = {name: secrets.token_urlsafe(12) for name in PEOPLE}
        broker = f"redis://:{self.redis_password}@127.0.0.1:{self._redis_port}/0"
        sockets = Places(home=home.absolute()).sockets
        settings = {
            "CORE__EXECUTOR": "CeleryExecutor",
            "CORE__AUTH_MANAGER": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
            "CELERY__BROKER_URL": broker,
            "CELERY__RESULT_BACKEND": broker,
            "CELERY__WORKER_CONCURRENCY": "2",
            "CELERY__OPERATION_TIMEOUT": "20",
            "LOGGING__REMOTE_LOGGING": "True",
            "LOGGING__REMOTE_BASE_LOG_FOLDER": "s3://headrace/logs",
            # A lost worker is noticed within half a minute instead of five.
            "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
            "SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "3",
            "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
            "SCHEDULER__TASK_QUEUED_TIMEOUT": "60",
            "SCHEDULER__TASK_QUEUED_TIMEOUT_CHECK_INTERVAL": "10",
        }
        names = {f"AIRFLOW__{name}": value for name, value in settings.items()}
        names["AIRFLOW_CONN_HEADRACE_METADATA"] = (
            f'{{"conn_type": "postgres", "login": "postgres", "schema": "airflow", "extra": {{"host": "{sockets}"}}}}'
        )
        super().__init__(home, declarations=declarations, settings=names)

    def as_person(self, name: str) -> Api:
        """The API as one of PEOPLE."""
        return Api(self.ports.ui, name, self.passwords[name])

    def home_of(self, worker: str) -> Path:
        """The folder that is a worker's alone."""
        return self.places.home / worker

    def environment_of(self, worker: str) -> dict[str, str]:
        """All that a worker is given."""
        given = {name: value for name, value in self.environment.items() if name not in KEPT_FROM_WORKERS}
        return {**given, "AIRFLOW_HOME": str(self.home_of(worker))}

    def _start_servers(self) -> None:
        super()._start_servers()
        self._launch(self._command(REDIS))
        self._wait(REDIS)
        self._make_person(UI_USER, self.keys.ui_password, "Admin")

    def _start_airflow(self) -> None:
        super()._start_airflow()
        for worker in WORKERS:
            self._launch(self._command(worker))
        for name, role in PEOPLE.items():
            self._make_person_over_the_api(name, role)
        for worker in WORKERS:
            self._wait(worker)

    def _command(self, name: str) -> Command:
        if name == REDIS:
            return self._redis()
        if name in WORKERS:
            own = ["celery", "worker", "--celery-hostname", f"{name}@headrace", "--skip-serve-logs"]
            return Command(name=name, arguments=components.airflow_command(*own))
        return super()._command(name)

    def _launch(self, command: Command) -> None:
        if command.name not in WORKERS:
            super()._launch(command)
            return
        home = self.home_of(command.name)
        home.mkdir(exist_ok=True)
        log = self.places.logs / f"{command.name}.log"
        self._said_before[command.name] = log.stat().st_size if log.exists() else 0
        self._programs[command.name] = processes.start(command, self.places, self.environment_of(command.name))
        self._record()

    def _is_healthy(self, name: str, program: Program) -> bool:
        if name == REDIS:
            return self._pings()
        if name in WORKERS:
            return b" ready." in program.log.read_bytes()[self._said_before[name] :]
        return super()._is_healthy(name, program)

    def _redis(self) -> Command:
        program = shutil.which("redis-server")
        if program is None:
            raise FileNotFoundError("redis-server is not installed; bin/test installs it")
        settings = self.places.home / "redis.conf"
        lines = [
            "bind 127.0.0.1",
            f"port {self._redis_port}",
            f"requirepass {self.redis_password}",
            'save ""',
            f"dir {self.places.home}",
        ]
        write_private(settings, "\n".join(lines) + "\n")
        return Command(name=REDIS, arguments=[program, str(settings)])

    def _pings(self) -> bool:
        client = redis.Redis(port=self._redis_port, password=self.redis_password)
        try:
            return bool(client.ping())
        except redis.exceptions.ConnectionError:
            return False
        finally:
            client.close()

    def _make_person(self, name: str, password: str, role: str) -> None:
        """The command that `docker-compose.yaml` uses for the first administrator."""
        words = ["--username", name, "--password", password, "--role", role, "--firstname", "A", "--lastname", "B"]
        subprocess.run(
            [sys.executable, "-m", "airflow", "users", "create", *words, "--email", f"{name}@example.com"],
            env=self.environment,
            check=True,
            capture_output=True,
        )

    def _make_person_over_the_api(self, name: str, role: str) -> None:
        body = {
            "username": name,
            "password": self.passwords[name],
            "email": f"{name}@example.com",
            "first_name": "A",
            "last_name": "B",
        }
        self.api._call("POST", "/auth/fab/v1/users", {**body, "roles": [{"name": role}]})
