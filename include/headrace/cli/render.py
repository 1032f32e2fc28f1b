"""Tables, figures and progress bars for people; JSON for machines."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table


def print_json(value: Any) -> None:
    """One indented JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: frozenset[str] = frozenset()
) -> None:
    """A table on standard output. Nothing is cut: a pipe gets wide lines, a terminal wraps them.

    Args:
        columns: their names; all empty: no heading.
        numbers: columns set to the right.
    """
    table = Table(title=title, title_justify="left", title_style="bold", show_header=any(columns))
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def console() -> Console:
    """Standard output; 200 columns wide where it is no terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=200)


def size(count: int) -> str:
    """`98.7 MB`, in powers of a thousand."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{count} B"


def count(number: int, thing: str) -> str:
    """`1 shard`, `1,204 shards`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def short(digest: str) -> str:
    """The first 12 characters of a digest."""
    return digest[:12]


@contextlib.contextmanager
def bytes_progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar that counts bytes, on standard error and only when that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with _bar(columns, label, total) as advance:
        yield advance


@contextlib.contextmanager
def count_progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar that counts things."""
    with _bar(
        (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()), label, total
    ) as advance:
        yield advance


@contextlib.contextmanager
def _bar(columns: tuple[Any, ...], label: str, total: int) -> Iterator[Callable[[int], None]]:
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda amount: progress.advance(task, amount)
