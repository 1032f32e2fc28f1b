"""What we start, we end, with everything it started; what others started, we never touch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local.places import Places
from local.processes import Command, Program, Record, end_leftovers, start, stop, tail, write_records

# A program that starts another one, which ignores polite requests, and says when both are there.
FAMILY = """
import subprocess, sys, time
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
subprocess.Popen([sys.executable, "-c", child])
time.sleep(60)
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """The folders of a new house."""
    made = Places(home=tmp_path / "house")
    made.create()
    return made


@pytest.fixture
def family(places: Places) -> Iterator[Program]:
    """A running program with a stubborn child."""
    program = start(Command(name="family", arguments=[sys.executable, "-c", FAMILY]), places, os.environ)
    deadline = time.monotonic() + 20
    while "ready" not in tail(program.log) and time.monotonic() < deadline:
        time.sleep(0.02)
    yield program
    stop([program], patience_seconds=0)


def members(program: Program) -> list[int]:
    """The living processes of a program's session."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == program.record.pid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (OSError, psutil.Error):
            continue
    return found


def test_stopping_ends_the_whole_session(family: Program) -> None:
    """A child that ignores the request is ended too."""
    assert len(members(family)) == 2

    stop([family], patience_seconds=0.4)

    assert members(family) == []


def test_leftovers_of_a_killed_supervisor_are_ended(family: Program, places: Places) -> None:
    """The leader is dead, its child lives on under its session's number: the next start finds it."""
    write_records(places, [family.record])
    family.kill()
    assert len(members(family)) == 1

    assert end_leftovers(places) == ["family"]
    assert members(family) == []


def test_a_program_started_before_it_was_recorded_is_found_by_its_folder(family: Program, places: Places) -> None:
    """The supervisor may die between starting and writing it down."""
    write_records(places, [])

    end_leftovers(places)

    assert members(family) == []


def test_a_number_that_the_system_gave_to_somebody_else_is_left_alone(tmp_path: Path, places: Places) -> None:
    """A pid alone proves nothing: the recorded start time differs."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], cwd=tmp_path, start_new_session=True)
    try:
        started = psutil.Process(other.pid).create_time()
        write_records(places, [Record(name="scheduler", pid=other.pid, started_at=started - 3600)])

        assert end_leftovers(places) == []
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_damaged_record_file_ends_nothing(places: Places) -> None:
    """Without records only our own folders tell."""
    places.processes.write_text("{half", encoding="utf-8")

    assert end_leftovers(places) == []
