"""Airflow's four programs and what each needs before it may start.

The order is not a matter of taste: tasks give up when the api-server does not answer within 20 seconds, so the scheduler comes
last; and the health address answers 200 whoever is dead, so its body is read, and a heartbeat counts only when it is younger
than the program (a killed scheduler looks healthy for half a minute).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from local.processes import Command

API_SERVER: Final = "api-server"
DAG_PROCESSOR: Final = "dag-processor"
TRIGGERER: Final = "triggerer"
SCHEDULER: Final = "scheduler"
COMPONENTS: Final = (API_SERVER, DAG_PROCESSOR, TRIGGERER, SCHEDULER)

_HEALTH_NAMES: Final = {DAG_PROCESSOR: "dag_processor", TRIGGERER: "triggerer", SCHEDULER: "scheduler"}


def airflow_command(*arguments: str) -> list[str]:
    """`airflow ...` by this environment's Python, whatever PATH says."""
    return [sys.executable, "-m", "airflow", *arguments]


def component(name: str) -> Command:
    """How to start one of the four.

    The log servers of scheduler and triggerer are left out: they listen on every address of the machine, and here the api-server
    reads the same files itself.
    """
    quiet = ("--skip-serve-logs",) if name in (SCHEDULER, TRIGGERER) else ()
    return Command(name=name, arguments=airflow_command(name, *quiet))


def is_healthy(name: str, health: Mapping[str, Any], started_at: float) -> bool:
    """What the health address's body says about a program started at `started_at` (seconds since the epoch)."""
    if name == API_SERVER:
        return bool(health["metadatabase"]["status"] == "healthy")
    part = health[_HEALTH_NAMES[name]]
    beat = part.get(f"latest_{_HEALTH_NAMES[name]}_heartbeat")
    if part["status"] != "healthy" or beat is None:
        return False
    return datetime.fromisoformat(beat).astimezone(UTC) >= datetime.fromtimestamp(started_at, UTC)
