"""Time zones by name, always from the `tzdata` package and never from the machine.

A cutoff is a promise about instants, so two machines must read the same zone data. The standard library prefers the
operating system's copy, whose version nobody records; here the pinned package is read directly and its version is known.
Names outside it (`localtime`, `posix/...`, `right/...` with its leap seconds) do not exist.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from headrace.spec.errors import check

_ZONE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*)*")


@cache
def zone(name: str) -> ZoneInfo:
    """The zone's rules. Raises DeclarationError when the `tzdata` package has no such zone."""
    check_zone("zone", "name", name)
    with _zone_file(name).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def check_zone(declaration: str, field: str, name: str) -> None:
    """Refuse a name that the `tzdata` package does not hold."""
    known = isinstance(name, str) and _ZONE_NAME.fullmatch(name) is not None and _zone_file(name).is_file()
    check(known, declaration, field, name, "a zone of the tz database, such as 'America/New_York' or 'UTC'")


@lru_cache(maxsize=1)
def zone_data_version() -> str:
    """The version of the zone data in use, e.g. `tzdata 2026.6`; snapshot manifests record it."""
    import importlib.metadata  # 20 ms that only a running task needs

    return f"tzdata {importlib.metadata.version('tzdata')}"


def _zone_file(name: str) -> Path:
    return _zone_root().joinpath(*name.split("/"))


@lru_cache(maxsize=1)
def _zone_root() -> Path:
    found = importlib.util.find_spec("tzdata")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the tzdata package is a dependency of headrace and is not installed")
    return Path(found.origin).parent / "zoneinfo"
