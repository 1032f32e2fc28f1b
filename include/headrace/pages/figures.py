"""Figures as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headrace.pages.html import Html, tag
from headrace.spec.canonical import instant_from

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(size_bytes: float) -> str:
    """`62.2 kB`: powers of ten, as object stores count."""
    value = float(size_bytes)
    for unit in _UNITS[:-1]:
        if abs(value) < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def count(value: int) -> str:
    """`12,345`."""
    return f"{value:,}"


def seconds(value: float) -> str:
    """`0.25 s`, `12 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`."""
    if value < 10:
        return f"{value:.2f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def duration(value: timedelta) -> str:
    """As `seconds`, without a sign."""
    return seconds(abs(value.total_seconds()))


def moment(instant: datetime | str) -> Html:
    """`2013-01-04 05:00 UTC`, with the exact instant for machines."""
    exact = instant_from(instant) if isinstance(instant, str) else instant.astimezone(UTC)
    return tag("time", exact.strftime("%Y-%m-%d %H:%M UTC"), datetime=exact.isoformat())


def digest(value: str) -> Html:
    """The first twelve digits, all of it on hover and for copying."""
    return tag("code", value[:12], title=value, class_="whole")


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 shard`, `2 shards`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
