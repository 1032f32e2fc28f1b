"""Land the files of the other examples: real pictures and Python sources, those of the packages installed beside us, byte for byte.

They have no day of their own; each is landed on one of the first seven days of 2013, by a hash of its name, so that a run of some days
has some of each. What lies there depends on what is installed: these are samples of the world, not a fixed data set.
"""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from local.landing import FIRST_DAY, SourceObject

DAYS: Final = 7
MOST_SOURCES_A_DAY: Final = 700
_PICTURES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".ico", ".webp", ".bmp", ".tif", ".tiff"})


def picture_objects(days: Collection[date], folder: Path | None = None) -> Iterator[SourceObject]:
    """Every picture, below `pictures/`, of the days asked for."""
    return _objects("pictures", _files(folder, lambda path: path.suffix.lower() in _PICTURES), days)


def source_text_objects(days: Collection[date], folder: Path | None = None) -> Iterator[SourceObject]:
    """Python sources, below `sources/`; of each day the `MOST_SOURCES_A_DAY` whose names hash lowest."""
    chosen: dict[date, list[tuple[str, Path]]] = {day: [] for day in days}
    for name, path in _files(folder, lambda path: path.suffix == ".py"):
        if _day(name) in chosen:
            chosen[_day(name)].append((name, path))
    for found in chosen.values():
        found.sort(key=lambda item: _rank(item[0]))
    return _objects("sources", (item for found in chosen.values() for item in found[:MOST_SOURCES_A_DAY]), days)


def _files(folder: Path | None, wanted: Callable[[Path], bool]) -> Iterator[tuple[str, Path]]:
    """Files by their names below the folder, in the order of names."""
    root = Path(sysconfig.get_path("purelib")) if folder is None else folder
    found = (path for path in root.rglob("*") if wanted(path) and path.is_file())
    yield from sorted((path.relative_to(root).as_posix(), path) for path in found)


def _objects(prefix: str, files: Iterable[tuple[str, Path]], days: Collection[date]) -> Iterator[SourceObject]:
    for name, path in files:
        day = _day(name)
        if day in days:
            yield SourceObject(key=f"{prefix}/{day:%Y/%m/%d}/{name}", content=path.read_bytes())


def _day(name: str) -> date:
    return FIRST_DAY + timedelta(days=_rank(name) % DAYS)


def _rank(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
