"""Time by stage: nested, over threads, and nothing when nobody records."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from headrace import stages
from headrace.stages import Spent, Stage, recording, stage


def burn(seconds: float) -> None:
    """Compute for that much CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_waiting_and_computing_are_told_apart() -> None:
    """Sleeping waits, a loop computes."""
    with recording() as recorder:
        with stage(Stage.READ):
            time.sleep(0.2)
        with stage(Stage.DECODE):
            burn(0.1)
    spent = recorder.totals()

    assert spent[Stage.READ].waiting_seconds >= 0.19
    assert spent[Stage.READ].cpu_seconds < 0.05
    assert spent[Stage.DECODE].cpu_seconds == pytest.approx(0.1, abs=0.05)


def test_an_inner_stage_takes_its_time_away_from_the_outer_one() -> None:
    """No second counts twice in one thread."""
    with recording() as recorder:
        began = time.perf_counter()
        with stage(Stage.PUBLISH):
            time.sleep(0.05)
            with stage(Stage.WRITE):
                time.sleep(0.15)
        took = time.perf_counter() - began
    spent = recorder.totals()

    assert spent[Stage.WRITE].seconds >= 0.15
    assert spent[Stage.PUBLISH].seconds >= 0.05
    assert 0.2 <= spent[Stage.PUBLISH].seconds + spent[Stage.WRITE].seconds <= took


BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_a_process_that_a_transform_waits_for_computes_for_it() -> None:
    """What looks like waiting from here was computing over there; without a transform it is computing of no stage."""
    with recording() as recorder, stage(Stage.TRANSFORM):
        subprocess.run([sys.executable, "-c", BURN], check=True)
    transformed = recorder.totals()
    with recording() as recorder:
        subprocess.run([sys.executable, "-c", BURN], check=True)

    assert transformed[Stage.TRANSFORM].cpu_seconds > 0.25
    assert transformed[Stage.COMPUTE].cpu_seconds < 0.25
    assert recorder.totals()[Stage.COMPUTE].cpu_seconds > 0.25


def test_threads_add_up() -> None:
    """Two threads that wait side by side wait twice."""
    barrier = threading.Barrier(2)

    def work(_: int) -> None:
        barrier.wait()
        with stage(Stage.READ):
            time.sleep(0.1)

    with recording() as recorder, ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))

    assert recorder.totals()[Stage.READ].times == 2
    assert recorder.totals()[Stage.READ].seconds >= 0.2


def test_what_no_stage_claims_is_computing() -> None:
    """CPU time outside of any stage."""
    with recording() as recorder:
        burn(0.1)
        with stage(Stage.READ):
            burn(0.1)

    assert recorder.totals()[Stage.COMPUTE].seconds == pytest.approx(0.1, abs=0.06)


def test_a_stage_ends_when_its_work_raises() -> None:
    """The next stage is not nested in a broken one."""
    with recording() as recorder:
        with pytest.raises(ValueError, match="broken"), stage(Stage.READ):
            raise ValueError("broken")
        with stage(Stage.WRITE):
            time.sleep(0.3)

    assert recorder.totals()[Stage.WRITE].seconds >= 0.3
    assert recorder.totals()[Stage.READ].seconds < recorder.totals()[Stage.WRITE].seconds


def test_nobody_records_nothing_is_kept() -> None:
    """Outside of a recording there is no recorder, and a stage does nothing."""
    with stage(Stage.READ):
        pass

    assert stages.current() is None
    assert stages.stop() is None


def test_waiting_is_never_negative() -> None:
    """CPU clocks are finer than wall clocks on some machines."""
    assert Spent(seconds=0.1, cpu_seconds=0.2).waiting_seconds == 0.0
