"""The one place that says in which environment every process of the house runs.

`house_environment` is a pure function from what was inherited to what a process gets; `write_environment` puts the same facts into
files: a shell file for people, AWS's standard configuration files, and the password file of Airflow's login page.

Inherited `AWS_*` and `AIRFLOW__*` variables are dropped: a key or an executor from somebody's shell must not decide where this
house writes or how it runs.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from local.keys import Keys
from local.places import REPOSITORY, Places, write_private
from local.ports import Ports

BUCKET: Final = "headrace"
POOL: Final = "headrace_lake"
POOL_SLOTS: Final = 8
UI_USER: Final = "admin"
REGION: Final = "us-east-1"
DAGS: Final = REPOSITORY / "dags"
DECLARATIONS: Final = REPOSITORY / "include" / "datasets"

_DROPPED_PREFIXES: Final = ("AWS_", "AIRFLOW__")
# Without bytecode files each of our processes compiles Airflow anew at every start (measured: 20 s instead of 5 s).
_DROPPED: Final = frozenset({"AIRFLOW_HOME", "AIRFLOW_CONFIG", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONSTARTUP"})


def git_commit() -> str:
    """The commit this repository is at, `+` behind it when files differ from it; `unknown` without git."""
    try:
        described = subprocess.run(  # noqa: S603 - git, with arguments of our own
            ["git", "-C", str(REPOSITORY), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"],  # noqa: S607 - any git
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Which files this house runs.

    Attributes:
        dags: the folder of DAG files.
        declarations: the folder of dataset declarations from which those DAGs are made.
        code_version: what manifests record as the code that ran.
    """

    dags: Path = DAGS
    declarations: Path = DECLARATIONS
    code_version: str = field(default_factory=git_commit)


def house_environment(
    inherited: Mapping[str, str], places: Places, ports: Ports, keys: Keys, layout: Layout, *, cores: int
) -> dict[str, str]:
    """The environment of every process of the house."""
    kept = {name: value for name, value in inherited.items() if name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES)}
    return (
        {"HEADRACE_CODE_VERSION": layout.code_version}
        | kept
        | _paths(inherited)
        | _own(places, layout)
        | _airflow(places, ports, keys, layout, cores)
    )


def write_environment(places: Places, ports: Ports, keys: Keys, environment: Mapping[str, str]) -> None:
    """Write the shell file, AWS's configuration and credentials, and the UI's password file; only this user may read them."""
    write_private(places.aws_config, _aws_config(ports))
    write_private(
        places.aws_credentials,
        f"[default]\naws_access_key_id = {keys.s3_access_key}\naws_secret_access_key = {keys.s3_secret_key}\n",
    )
    write_private(places.passwords, json.dumps({UI_USER: keys.ui_password}) + "\n")
    write_private(places.environment, _shell_file(environment))


def _paths(inherited: Mapping[str, str]) -> dict[str, str]:
    loopback = "127.0.0.1,localhost"
    beyond_proxy = ",".join(part for part in (inherited.get("NO_PROXY", inherited.get("no_proxy", "")), loopback) if part != "")
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), inherited.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "include")]),
        "NO_PROXY": beyond_proxy,  # our processes talk to each other over HTTP on loopback
        "no_proxy": beyond_proxy,
    }


def _own(places: Places, layout: Layout) -> dict[str, str]:
    return {
        "AWS_CONFIG_FILE": str(places.aws_config),
        "AWS_SHARED_CREDENTIALS_FILE": str(places.aws_credentials),
        "HEADRACE_LAKE": f"s3://{BUCKET}/lake",
        "HEADRACE_SOURCE": f"s3://{BUCKET}/landing",
        "HEADRACE_DECLARATIONS": str(layout.declarations),
        "GX_ANALYTICS_ENABLED": "false",
    }


def _airflow(places: Places, ports: Ports, keys: Keys, layout: Layout, cores: int) -> dict[str, str]:
    address = f"http://127.0.0.1:{ports.ui}"
    options = {
        "CORE__DAGS_FOLDER": str(layout.dags),
        "CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__PARALLELISM": str(2 * cores),  # tasks wait for the lake about as long as they compute
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "CORE__DEFAULT_TIMEZONE": "utc",
        "CORE__FERNET_KEY": keys.fernet_key,
        "CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "CORE__SIMPLE_AUTH_MANAGER_USERS": f"{UI_USER}:admin",
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(places.passwords),
        "DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://postgres@/airflow?host={places.sockets}",
        "API__HOST": "127.0.0.1",
        "API__PORT": str(ports.ui),
        "API__BASE_URL": address,
        "API__SECRET_KEY": keys.api_secret_key,
        "API_AUTH__JWT_SECRET": keys.jwt_secret,
        "USAGE_DATA_COLLECTION__ENABLED": "False",
        "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
        # A scheduler or triggerer that died is noticed, and its tasks run again, within a minute instead of five.
        "SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "30",
        "SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "15",
        "TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
        "DAG_PROCESSOR__REFRESH_INTERVAL": "15",
        "DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "2",
        "DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "DAG_PROCESSOR__DAG_VERSION_INFLATION_CHECK_LEVEL": "error",
    }
    return {"AIRFLOW_HOME": str(places.airflow), **{f"AIRFLOW__{name}": value for name, value in options.items()}}


def _aws_config(ports: Ports) -> str:
    return "\n".join(
        [
            "[default]",
            f"region = {REGION}",
            f"endpoint_url = http://127.0.0.1:{ports.s3}",
            "request_checksum_calculation = when_required",
            "response_checksum_validation = when_required",
            "s3 =",
            "    addressing_style = path",
            "",
        ]
    )


def _shell_file(environment: Mapping[str, str]) -> str:
    """What a person sources: our own variables, with what would contradict them unset."""
    ours = {
        name: value
        for name, value in environment.items()
        if name.startswith((*_DROPPED_PREFIXES, "HEADRACE_"))
        or name in {"PATH", "PYTHONPATH", "AIRFLOW_HOME", "GX_ANALYTICS_ENABLED"}
    }
    lines = [
        "# Source this file to work inside the house: airflow, headrace, aws and Python see its lake and its database.",
        "for name in $(env | grep -E '^(AWS_|AIRFLOW__)' | cut -d= -f1); do unset \"$name\"; done",
        *(f"export {name}={shlex.quote(value)}" for name, value in sorted(ours.items())),
    ]
    return "\n".join(lines) + "\n"
