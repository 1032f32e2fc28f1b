"""Start a program in a session of its own, know it again after a crash, end it with everything it started.

Each program leads its own session, so the terminal's Ctrl-C reaches only the supervisor, which then stops the programs in the
right order; and whatever a program forks stays in its session. A file records pid and start time of each. After a supervisor was
killed, the next start ends what that file names and what still works below the house's own folders, nothing else: a pid alone
proves nothing, since systems give it out again.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # it ships no types

from local.places import Places, write_private

# Start times come from the kernel's clock ticks and the boot time, which clock corrections move a little.
_SAME_START_SECONDS: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Record:
    """A program we started: its name, its pid (also its session's number) and its start as seconds since the epoch."""

    name: str
    pid: int
    started_at: float


@dataclass(frozen=True, kw_only=True)
class Command:
    """How to start one program.

    Attributes:
        user: numbers (uid, gid) to run as; None means as we are.
        stop_signal: what asks the program to end in good order.
    """

    name: str
    arguments: Sequence[str]
    user: tuple[int, int] | None = None
    stop_signal: signal.Signals = signal.SIGTERM


class Program:
    """One running program of the house."""

    def __init__(self, command: Command, process: subprocess.Popen[bytes], log: Path) -> None:
        self.command = command
        self.process = process
        self.log = log
        self.started_at = time.time()
        self.record = Record(name=command.name, pid=process.pid, started_at=_start_of(process.pid))

    @property
    def name(self) -> str:
        return self.command.name

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self.process.poll()

    def kill(self) -> None:
        """End the leader as a crash would (SIGKILL); what it started stays behind."""
        self.process.kill()
        self.process.wait()


def start(command: Command, places: Places, environment: Mapping[str, str]) -> Program:
    """Start the program in its own session, its output appended to `logs/<name>.log`."""
    folder = places.running / command.name
    folder.mkdir(exist_ok=True)
    log = places.logs / f"{command.name}.log"
    uid, gid = (None, None) if command.user is None else command.user
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - starting programs with arguments of our own making is this module's purpose
            list(command.arguments),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
        )
    return Program(command, process, log)


def stop(programs: Iterable[Program], patience_seconds: float) -> None:
    """Ask all of them to end; ask again after half the patience; end what is left of their sessions after all of it.

    Airflow's programs take a second request as "do not wait for what you are waiting for".
    """
    asked = list(programs)
    for _ in range(2):
        for program in asked:
            if program.exit_code() is None:
                program.process.send_signal(program.command.stop_signal)
        _wait_for_all(asked, patience_seconds / 2)
    end_sessions({program.record.pid for program in asked})
    for program in asked:
        program.process.wait()


def _wait_for_all(programs: Sequence[Program], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(program.exit_code() is None for program in programs):
        time.sleep(0.05)


def end_sessions(sessions: set[int]) -> None:
    """End every process of these sessions at once."""
    while members := [process for process in psutil.process_iter() if _session_of(process) in sessions and _runs(process)]:
        _kill(members)


def write_records(places: Places, records: Iterable[Record]) -> None:
    """Keep what runs now, so that a later start can tell it from other people's processes."""
    content = {"booted_at": psutil.boot_time(), "programs": [dataclasses.asdict(record) for record in records]}
    write_private(places.processes, json.dumps(content, indent=2) + "\n")


def end_leftovers(places: Places) -> list[str]:
    """End what an earlier supervisor left behind; the names of those that were still there.

    Ours is a process whose session a record names (same boot, and its leader, while alive, has the recorded start time), or one
    whose working folder is among the house's own.
    """
    records = _read_records(places)
    sessions = {record.pid: record.name for record in records if _leader_is_ours_or_gone(record)}
    folders = (places.running, places.postgres)
    ended: list[str] = []
    # Twice over: a process may fork while we look.
    while found := [process for process in psutil.process_iter() if _is_left_over(process, set(sessions), folders)]:
        ended.extend(sessions.get(_session_of(process), _name_of(process)) for process in found)
        _kill(found)
    return sorted(set(ended))


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for people."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"


def _is_left_over(process: psutil.Process, sessions: set[int], folders: tuple[Path, ...]) -> bool:
    if int(process.pid) == os.getpid() or not _runs(process):
        return False
    folder = _folder_of(process)
    inside = folder is not None and any(folder.is_relative_to(ours) for ours in folders)
    if inside:
        return True
    # A record's session may hold a process that changed its folder; only its leader's identity makes it ours.
    return _session_of(process) in sessions - {os.getsid(0)}


def _leader_is_ours_or_gone(record: Record) -> bool:
    try:
        return abs(_start_of(record.pid) - record.started_at) < _SAME_START_SECONDS
    except psutil.NoSuchProcess:
        # While a session has members, no new process gets its number: members found under it are ours.
        return True
    except psutil.AccessDenied:
        return False


def _read_records(places: Places) -> list[Record]:
    try:
        content = json.loads(places.processes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    if abs(content["booted_at"] - psutil.boot_time()) > 60:
        return []  # the machine was started anew: none of them can be alive
    return [Record(**record) for record in content["programs"]]


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=5)


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _session_of(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except OSError:
        return -1


def _folder_of(process: psutil.Process) -> Path | None:
    try:
        return Path(process.cwd())
    except (psutil.Error, OSError):
        return None


def _name_of(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.Error:
        return "a process"


def _start_of(pid: int) -> float:
    """Raises psutil.NoSuchProcess."""
    return float(psutil.Process(pid).create_time())
