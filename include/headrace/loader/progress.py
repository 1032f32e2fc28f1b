"""A bar for people, by choice; nothing is imported for it otherwise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from headrace.loader.cursor import Cursor
from headrace.loader.read import Reading


@contextlib.contextmanager
def shown(reading: Reading, cursor: Cursor) -> Iterator[Callable[[int], None]]:
    """Yields what to call with the position reached."""
    if not reading.options.progress:
        yield _nothing
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        total = reading.source.length
        task = bar.add_task(f"epoch {cursor.epoch}", total=total, completed=cursor.position)
        yield lambda position: bar.update(task, completed=min(position, total))


def _nothing(position: int) -> None:
    """No bar."""
