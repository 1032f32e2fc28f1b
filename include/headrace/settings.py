"""Where the lake and the sources are. The only module that reads the environment.

Credentials and endpoints are not settings of ours: they come from the standard AWS chain (profile, role, environment).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from headrace.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a process needs to know about its surroundings.

    Attributes:
        lake: URI of the lake, `s3://bucket/prefix` or `file:///folder`.
        source: URI below which the source objects lie, in the same two forms.
        declarations: folder of declaration files.
        code_version: the git commit or image digest that runs, `unknown` when nobody said.
    """

    lake: str
    source: str
    declarations: Path
    code_version: str


def declarations_folder() -> Path:
    """The folder of declaration files (`HEADRACE_DECLARATIONS`). Needed at DAG parse, where no lake need be known."""
    return Path(_required("HEADRACE_DECLARATIONS", "the folder of declaration files, such as include/datasets"))


def lake_uri() -> str:
    """URI of the lake (`HEADRACE_LAKE`)."""
    return _required("HEADRACE_LAKE", "the lake's URI, s3://bucket/prefix or file:///folder")


def summary_quiet() -> timedelta:
    """How long a backfill must have found nothing bad before its summary is sent (`HEADRACE_SUMMARY_QUIET_SECONDS`, ten minutes)."""
    text = os.environ.get("HEADRACE_SUMMARY_QUIET_SECONDS", "600")
    if not text.isdecimal():
        raise SettingsError(
            "HEADRACE_SUMMARY_QUIET_SECONDS", found=repr(text), expected="whole seconds", remedy="Correct or unset it."
        )
    return timedelta(seconds=int(text))


def runbooks() -> str:
    """Folder or address of the runbooks that alerts point to (`HEADRACE_RUNBOOKS`)."""
    return os.environ.get("HEADRACE_RUNBOOKS", "docs/runbooks")


def source_uri() -> str:
    """URI below which the source objects lie (`HEADRACE_SOURCE`)."""
    return _required("HEADRACE_SOURCE", "the URI below which source objects lie")


def cache_folder() -> Path:
    """Where a training machine keeps shards (`HEADRACE_CACHE`, else `headrace` in the user's cache folder)."""
    named = os.environ.get("HEADRACE_CACHE")
    if named is not None and named != "":
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headrace"


def launched_rank() -> tuple[int, int]:
    """(rank, world size) as launchers such as torchrun set them (`RANK`, `WORLD_SIZE`); (0, 1) when neither is set.

    Raises `SettingsError` when only one is, or one is no number: guessing a rank would read samples twice.
    """
    rank, world_size = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None and world_size is None:
        return 0, 1
    if rank is None or world_size is None or not rank.isdecimal() or not world_size.isdecimal():
        raise SettingsError(
            "RANK and WORLD_SIZE",
            found=f"{rank!r} and {world_size!r}",
            expected="two whole numbers, or neither",
            remedy="Let the launcher set both, or pass a Place.",
        )
    return int(rank), int(world_size)


def read_settings() -> Settings:
    """Settings from the environment. Raises `SettingsError` naming the variable that is missing."""
    return Settings(
        lake=lake_uri(),
        source=source_uri(),
        declarations=declarations_folder(),
        code_version=os.environ.get("HEADRACE_CODE_VERSION", "unknown"),
    )


def prices_text() -> str:
    """Declared prices for the cost of runs (`HEADRACE_PRICES`, see `runs/prices.py`); empty when nobody declared any."""
    return os.environ.get("HEADRACE_PRICES", "")


def traces_wanted() -> bool:
    """Whether runs are sent as OpenTelemetry spans (`HEADRACE_TRACES=otlp`); where to is up to the standard `OTEL_*` variables."""
    value = os.environ.get("HEADRACE_TRACES", "")
    if value not in ("", "otlp"):
        raise SettingsError("HEADRACE_TRACES", found=repr(value), expected="otlp, or nothing", remedy="Correct or unset it.")
    return value == "otlp"


def _required(name: str, meaning: str) -> str:
    value = os.environ.get(name)
    if value is None or value == "":
        raise SettingsError(
            name,
            found="nothing" if value is None else "an empty text",
            expected=meaning,
            remedy=f"Set {name}; `source .headrace/env` does it for a house started by bin/run.",
        )
    return value
