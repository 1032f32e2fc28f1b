"""How many cores this process may use: what its affinity and its control group leave it, not what the machine has."""

from __future__ import annotations

import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def allowed_cores(quota: Path = _QUOTA) -> int:
    """At least 1. A quota of one and a half cores counts as one."""
    affinity = getattr(os, "sched_getaffinity", None)  # macOS has none
    cores = (os.cpu_count() or 1) if affinity is None else len(affinity(0))
    return max(min(cores, _quota_cores(quota, cores)), 1)


def _quota_cores(quota: Path, otherwise: int) -> int:
    """Cores of a version 2 control group, written as `<microseconds or max> <period>`."""
    try:
        given, period = quota.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return otherwise
    return otherwise if given == "max" else int(given) // int(period)
