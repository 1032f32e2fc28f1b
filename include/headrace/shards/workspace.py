"""A folder on local disk for shards being written.

It goes away with its writer. A writer killed outright leaves it behind; the next one on the machine removes what no living process holds:
each folder has a lock file that the kernel releases when its holder dies, so this is safe across containers that share a disk.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headrace.lake.errors import DiskFull, is_disk_full

_PREFIX: Final = "headrace-work-"
_LOCK: Final = "lock"


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A fresh folder. Raises `DiskFull` in place of the system's error when the disk takes no more."""
    home = Path(tempfile.gettempdir())
    _sweep(home)
    with contextlib.ExitStack() as held:
        folder = _locked_folder(held)
        try:
            yield folder
        except OSError as error:
            if is_disk_full(error) and not isinstance(error, DiskFull):
                raise DiskFull.at(str(folder), error) from error
            raise


def _locked_folder(held: contextlib.ExitStack) -> Path:
    while True:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)))
        lock = held.enter_context((folder / _LOCK).open("w"))
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _LOCK).exists():  # nobody swept it between its making and its locking
            return folder


def _sweep(home: Path) -> None:
    for folder in home.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("r") as lock:  # gone, in use, or not ours
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
