"""The summary as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich import box
from rich.table import Table

from local.summary import Day, Published, Summary

_DIGEST_SHOWN: Final = 16  # `headrace show` prints all of it
_COLUMNS: Final[tuple[tuple[str, Callable[[Day], int]], ...]] = (
    ("Objects", lambda day: day.objects),
    ("Shards", lambda day: day.shards),
    ("Samples", lambda day: day.samples),
    ("Quaran-\ntined", lambda day: day.quarantined),
    ("Snapshot\nrows", lambda day: day.snapshot_rows),
    ("Training\nrows", lambda day: day.training_rows),
)


def days_table(summary: Summary) -> Table:
    """A row a day, and the sums."""
    table = Table(show_footer=True, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Day", footer=f"{len(summary.days)} days", no_wrap=True)
    for name, value in _COLUMNS:
        table.add_column(name, justify="right", footer=f"{sum(map(value, summary.days)):,}")
    passed, checks = sum(day.checks_passed for day in summary.days), sum(day.checks for day in summary.days)
    table.add_column("Checks", justify="right", footer=f"{passed}/{checks}")
    for day in summary.days:
        style = None if day.checks_passed == day.checks else "bold red"
        figures = [f"{value(day):,}" for _, value in _COLUMNS]
        table.add_row(day.day, *figures, f"{day.checks_passed}/{day.checks}", style=style)
    return table


def releases_table(summary: Summary) -> Table:
    """A row a dataset: the release in use."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Dataset", no_wrap=True)
    for name in ("Release", "Parti-\ntions", "Samples", "Lost", "Doubled"):
        table.add_column(name, justify="right")
    table.add_column("Digest", no_wrap=True)
    for release in summary.releases:
        table.add_row(*_cells(release), style=None if release.lost == release.doubled == 0 else "bold red")
    return table


def _cells(release: Published) -> tuple[str, ...]:
    figures = (release.number, release.partitions, release.samples, release.lost, release.doubled)
    return (release.dataset, *(f"{figure:,}" for figure in figures), release.digest[:_DIGEST_SHOWN])
