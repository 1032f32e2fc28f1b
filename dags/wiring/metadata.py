"""Old rows of Airflow's own database, removed by Airflow's own command.

Tasks have no access to that database, on purpose. Whoever wants this DAG to clean it says so by a connection, `headrace_metadata`: a
PostgreSQL login that may delete there. Without it the task is skipped, and `airflow db clean` can be run by other means.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from datetime import datetime
from typing import Any, Final

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException, AirflowSkipException
from headrace.errors import RetryableError

log = logging.getLogger("headrace")

CONNECTION: Final = "headrace_metadata"
_SAID: Final = 2000


class MetadataNotCleaned(RetryableError):
    """Airflow's command did not end well."""


def clean_metadata(before: datetime) -> None:
    """Say what is older than `before`, then remove it. What is kept: each DAG's newest run, and everything younger.

    Raises:
        MetadataNotCleaned: with the end of what Airflow said.
    """
    try:
        connection = BaseHook.get_connection(CONNECTION)
    except AirflowNotFoundException as error:
        raise AirflowSkipException(f"There is no connection {CONNECTION}; docs/production.md says what it is for.") from error
    address = address_of(connection)
    for more in (["--dry-run"], ["--skip-archive", "--yes", "--error-on-cleanup-failure"]):
        said = _airflow(["db", "clean", "--clean-before-timestamp", before.isoformat(), *more], address)
        log.info("airflow db clean %s:\n%s", more[0], said[-_SAID:])


def address_of(connection: Any) -> str:
    """The connection as Airflow's own database setting."""
    from sqlalchemy.engine import URL

    made = URL.create(
        "postgresql+psycopg2",
        username=connection.login,
        password=connection.password,
        host=connection.host,
        port=connection.port,
        database=connection.schema,
        query=connection.extra_dejson,
    )
    return made.render_as_string(hide_password=False)


def _airflow(arguments: list[str], address: str) -> str:
    done = subprocess.run(  # noqa: S603 - Airflow's own program, arguments of our own making
        [sys.executable, "-m", "airflow", *arguments],
        env={**os.environ, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": address, "AIRFLOW__CORE__SQL_ALCHEMY_CONN": address},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise MetadataNotCleaned(
            f"airflow {' '.join(arguments[:2])}",
            found=f"exit code {done.returncode}: {done.stdout[-_SAID:]}",
            expected="old rows removed",
            remedy=f"See whether the login of {CONNECTION} may delete, and whether the database is migrated.",
        )
    return done.stdout
