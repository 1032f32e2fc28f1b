"""Where everything of one house lies: one folder that can be deleted as a whole.

Only Unix sockets may live elsewhere: their path is limited to about 100 bytes, so a house in a deep folder keeps them in a
short temporary folder of its own, named after a digest of the house's path and removed when the house stops.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local.errors import HouseError

REPOSITORY: Final = Path(__file__).resolve().parent.parent
# sun_path holds 104 bytes on macOS and 108 on Linux; the longest name we put there is `/.s.PGSQL.5432.lock`.
_LONGEST_SOCKET_FOLDER_BYTES: Final = 104 - 24
_NEEDED_FREE_BYTES: Final = 500 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Places:
    """The paths of one house below `home` (absolute)."""

    home: Path

    @property
    def airflow(self) -> Path:
        return self.home / "airflow"

    @property
    def aws_config(self) -> Path:
        return self.home / "aws" / "config"

    @property
    def aws_credentials(self) -> Path:
        return self.home / "aws" / "credentials"

    @property
    def environment(self) -> Path:
        """The shell file a person can `source`."""
        return self.home / "env"

    @property
    def keys(self) -> Path:
        return self.home / "keys.json"

    @property
    def lock(self) -> Path:
        return self.home / "lock"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def passwords(self) -> Path:
        return self.airflow / "passwords.json"

    @property
    def ports(self) -> Path:
        return self.home / "ports.json"

    @property
    def postgres(self) -> Path:
        return self.home / "postgres"

    @property
    def processes(self) -> Path:
        return self.home / "processes.json"

    @property
    def running(self) -> Path:
        """Working folders of the processes, one each: a process found here is one of ours."""
        return self.home / "running"

    @property
    def seaweedfs(self) -> Path:
        return self.home / "seaweedfs"

    @property
    def sockets(self) -> Path:
        """The folder of the Unix sockets, short enough for every system."""
        inside = self.home / "sockets"
        if len(os.fsencode(inside)) <= _LONGEST_SOCKET_FOLDER_BYTES:
            return inside
        return Path(tempfile.gettempdir()) / f"headrace-{hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]}"

    def create(self) -> None:
        """Make the folders. Raises HouseError when the disk is full or the place cannot be written."""
        try:
            for folder in (
                self.home,
                self.airflow,
                self.aws_config.parent,
                self.logs,
                self.running,
                self.seaweedfs,
                self.sockets,
            ):
                folder.mkdir(parents=True, exist_ok=True)
            # Others may pass through (as root, PostgreSQL runs as another user) but not look around.
            self.home.chmod(0o711)
            self.sockets.chmod(0o711)
            for folder in (self.airflow, self.aws_config.parent, self.logs, self.seaweedfs):
                folder.chmod(0o700)
        except OSError as error:
            raise HouseError(
                f"The folder {self.home}",
                found=error.strerror or str(error),
                expected="a folder this user may write",
                remedy="Choose another with --home or HEADRACE_HOME.",
            ) from error
        _check_free_space(self.home)

    def delete(self) -> None:
        """Remove the house: its lake, its database, its keys. What a person put beside them stays."""
        folders = (self.airflow, self.aws_config.parent, self.logs, self.postgres, self.running, self.seaweedfs, self.sockets)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        for file in (self.environment, self.keys, self.ports, self.processes, self.lock):
            file.unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Write a file only this user may read, replacing it whole: a reader sees the old text or the new one."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)


def _check_free_space(home: Path) -> None:
    free_bytes = shutil.disk_usage(home).free
    if free_bytes < _NEEDED_FREE_BYTES:
        raise HouseError(
            f"The disk of {home}",
            found=f"{free_bytes // 2**20} MiB free",
            expected=f"at least {_NEEDED_FREE_BYTES // 2**20} MiB",
            remedy="Free some space, or choose another disk with --home or HEADRACE_HOME.",
        )
