"""The house itself: start everything in order, watch it, stop everything.

    with House(home=folder) as house:
        house.api.get("dags")
        house.kill("scheduler")
        house.start("scheduler")

One supervisor a home: a lock file says so. Whatever way the block ends, no process stays behind; when the supervisor itself is
killed, the next start on the same home ends what it left.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from local import components, postgres, processes, seaweedfs
from local.api import Api
from local.environment import DAGS, DECLARATIONS, POOL, POOL_SLOTS, UI_USER, Layout, house_environment, write_environment
from local.errors import ApiError, ApiUnreachable, HouseError
from local.keys import house_keys
from local.places import Places
from local.ports import house_ports
from local.processes import Command, Program

_SERVERS: Final = (seaweedfs.NAME, postgres.NAME)
_STOP_PATIENCE_SECONDS: Final = {
    "airflow": 4.0,  # the triggerer always uses up its time (it waits ten seconds for a child that is gone); a kill costs it nothing
    postgres.NAME: 10.0,
    seaweedfs.NAME: 3.0,  # it waits fifteen for readers that are its own; what it has acknowledged is written
}


def _silent(line: str) -> None:
    """Say nothing."""


class House:
    """One running house.

    Args:
        home: the folder that holds all of it.
        declarations: the folder of declarations it runs.
        dags: the folder of DAG files it runs.
        ui_port: the port of the UI, when a person demands one.
        settings: variables every program gets, beside the house's own or instead of them.
        say: where progress lines go.
        patience_seconds: how long one program may take to become healthy; slow machines need minutes at a first start.
    """

    def __init__(
        self,
        home: Path,
        *,
        declarations: Path = DECLARATIONS,
        dags: Path = DAGS,
        ui_port: int | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
        say: Callable[[str], None] = _silent,
        patience_seconds: float = 300.0,
    ) -> None:
        self.places = Places(home=home.absolute())
        self._layout = Layout(declarations=declarations.absolute(), dags=dags.absolute())
        self._ui_port = ui_port
        self._settings = settings
        self._say = say
        self._patience_seconds = patience_seconds
        self._programs: dict[str, Program] = {}
        self._restarted: set[str] = set()
        self._held = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where a person opens the UI."""
        return f"http://127.0.0.1:{self.ports.ui}"

    @property
    def login(self) -> tuple[str, str]:
        """Name and password for the UI."""
        return UI_USER, self.keys.ui_password

    @property
    def parsing_since(self) -> float:
        """When the dag-processor was started, seconds since the epoch: what it parsed before is from another time."""
        return self._programs[components.DAG_PROCESSOR].started_at

    def pause(self, seconds: float) -> None:
        """Wait, and look after the programs. Raises HouseError when one of them is beyond help."""
        time.sleep(seconds)
        self.watch()

    def close(self) -> None:
        """Stop every program: Airflow first, what it writes to last."""
        running = list(self._programs.values())
        processes.stop([program for program in running if program.name not in _SERVERS], _STOP_PATIENCE_SECONDS["airflow"])
        for name in (postgres.NAME, seaweedfs.NAME):
            processes.stop([program for program in running if program.name == name], _STOP_PATIENCE_SECONDS[name])
        self._programs.clear()
        self._held.close()

    def start(self, name: str) -> None:
        """Start one program and wait until it is healthy; what an earlier one of that name left behind is ended first."""
        old = self._programs.pop(name, None)
        if old is not None:
            processes.end_sessions({old.record.pid})
        self._launch(self._command(name))
        self._wait(name)

    def kill(self, name: str) -> None:
        """End one program as a crash would. It stays dead until `start`; `watch` does not revive it."""
        self._programs[name].kill()
        processes.end_sessions({self._programs[name].record.pid})
        del self._programs[name]
        self._record()

    def pid(self, name: str) -> int:
        """The process id of a program."""
        return self._programs[name].record.pid

    def exit_code(self, name: str) -> int | None:
        """How a program ended; None while it runs."""
        return self._programs[name].exit_code()

    def watch(self) -> None:
        """Start what died once more; raise HouseError when it died before. Call it every second or so."""
        for program in list(self._programs.values()):
            code = program.exit_code()
            if code is None:
                continue
            what_it_said = (
                f"{program.name} ended with code {code}; the last lines of {program.log}:\n{processes.tail(program.log)}"
            )
            if program.name in self._restarted:
                raise HouseError(
                    program.name, found=what_it_said, expected="to keep running", remedy="It had been restarted once."
                )
            self._restarted.add(program.name)
            self._say(what_it_said)
            self._say(f"Starting {program.name} once more.")
            self.start(program.name)

    def _open(self) -> None:
        self.places.create()
        self._held.enter_context(self.sole(self.places))
        self.keys = house_keys(self.places.keys)
        self.ports = house_ports(self.places.ports, self._ui_port)
        self._held.callback(seaweedfs.remove_sockets, self.ports)
        if not self.places.sockets.is_relative_to(self.places.home):
            self._held.callback(shutil.rmtree, self.places.sockets, ignore_errors=True)
        cores = os.cpu_count() or 1
        own = house_environment(os.environ, self.places, self.ports, self.keys, self._layout, cores=cores)
        self.environment = {**own, **self._settings}
        write_environment(self.places, self.ports, self.keys, self.environment)
        self.s3 = seaweedfs.client(self.ports, self.keys)
        self.api = Api(self.ports.ui, *self.login)
        self._start_servers()
        self._start_airflow()

    def _start_servers(self) -> None:
        self._say("Starting PostgreSQL and SeaweedFS.")
        for name in _SERVERS:
            self._launch(self._command(name))
        for name in _SERVERS:
            self._wait(name)
        self._migrate()

    def _start_airflow(self) -> None:
        self._say("Starting Airflow: api-server, dag-processor, triggerer, scheduler.")
        self._launch(components.component(components.API_SERVER))
        self._launch(components.component(components.DAG_PROCESSOR))
        self._wait(components.API_SERVER)
        self._make_pool()
        self._launch(components.component(components.SCHEDULER))
        self._launch(components.component(components.TRIGGERER))
        for name in components.COMPONENTS:
            self._wait(name)

    def _command(self, name: str) -> Command:
        if name == postgres.NAME:
            return postgres.prepare(self.places)
        if name == seaweedfs.NAME:
            return seaweedfs.prepare(self.places, self.ports, self.keys)
        return components.component(name)

    def _launch(self, command: Command) -> None:
        self._programs[command.name] = processes.start(command, self.places, self.environment)
        self._record()

    def _record(self) -> None:
        processes.write_records(self.places, [program.record for program in self._programs.values()])

    def _wait(self, name: str) -> None:
        """Wait for real health. Raises HouseError when the program ends, or is not healthy in time."""
        program = self._programs[name]
        deadline = time.monotonic() + self._patience_seconds
        while not self._is_healthy(name, program):
            code = program.exit_code()
            if code is not None or time.monotonic() > deadline:
                state = "not healthy in time" if code is None else f"ended with code {code}"
                raise HouseError(
                    f"{name} at its start",
                    found=f"{state}; the last lines of its log:\n{processes.tail(program.log)}\n",
                    expected="a healthy program",
                    remedy=f"See {program.log}.",
                )
            time.sleep(0.2)

    def _is_healthy(self, name: str, program: Program) -> bool:
        if name == postgres.NAME:
            return postgres.is_ready(self.places)
        if name == seaweedfs.NAME:
            return seaweedfs.is_ready(self.s3)
        if not self.api.answers():
            return False
        try:
            return components.is_healthy(name, self.api.health(), program.started_at)
        except (ApiError, ApiUnreachable):
            return False

    def _migrate(self) -> None:
        """Bring Airflow's tables up to date, unless this version of Airflow did so before (it costs seven seconds)."""
        stamp = self.places.airflow / "migrated"
        current = f"{importlib.metadata.version('apache-airflow')} {postgres.database_version(self.places)}\n"
        if stamp.exists() and stamp.read_text(encoding="utf-8") == current:
            return
        self._say("Preparing Airflow's database.")
        log = self.places.logs / "migrate.log"
        with log.open("wb") as output:
            done = subprocess.run(  # noqa: S603 - Airflow's own program
                components.airflow_command("db", "migrate"),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode != 0:
            raise HouseError(
                "Airflow's database",
                found=f"`airflow db migrate` ended with code {done.returncode}:\n{processes.tail(log)}\n",
                expected="tables of this Airflow version",
                remedy=f"See {log}, or start over with --fresh.",
            )
        version = importlib.metadata.version("apache-airflow")
        stamp.write_text(f"{version} {postgres.database_version(self.places)}\n", encoding="utf-8")

    def _make_pool(self) -> None:
        body = {"name": POOL, "slots": POOL_SLOTS, "description": "Tasks that read or write the lake", "include_deferred": False}
        try:
            self.api.post("pools", body)
        except ApiError as error:
            if error.status != 409:  # it exists: a person may have resized it
                raise

    @staticmethod
    @contextmanager
    def sole(places: Places) -> Iterator[None]:
        """Hold the home's lock and end what an earlier supervisor left there. Raises HouseError when another one lives."""
        with places.lock.open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise HouseError(
                    f"The house in {places.home}",
                    found="it is running already",
                    expected="one start at a time",
                    remedy="Use the one that runs, stop it with Ctrl-C, or choose another folder with --home.",
                ) from error
            processes.end_leftovers(places)
            yield
