"""Making items in a thread while the consumer works, bounded in bytes, failing where the consumer can see it.

What the thread raises is raised again in the consumer's thread, in its place in the order. The end is an item of its own: a thread that
is gone without having said so is an error, never the end of the epoch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

from headrace.loader.errors import EpochIncomplete

T = TypeVar("T")
_POLL_SECONDS: Final = 1.0
_LET_GO_SECONDS: Final = 5.0


class _End:
    pass


class Ahead(Generic[T]):
    """An iterator over `items`, run ahead by up to `max_bytes`, at least one item. `close` ends the thread."""

    def __init__(self, items: Iterator[T], size_of: Callable[[T], int], *, max_bytes: int) -> None:
        self._items = items
        self._size_of = size_of
        self._max_bytes = max_bytes
        self._ready: deque[T | BaseException | _End] = deque()
        self._held = 0
        self._closed = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="headrace-ahead", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        with self._change:
            while not self._ready:
                if not self._thread.is_alive() and not self._ready:
                    raise EpochIncomplete(
                        "reading ahead",
                        found="a reading thread that is gone",
                        expected="a batch or the end",
                        remedy="Report this.",
                    )
                self._change.wait(_POLL_SECONDS)
            item = self._ready.popleft()
            if isinstance(item, BaseException | _End):
                self._ready.append(item)  # asked again, the answer is the same
                raise StopIteration if isinstance(item, _End) else item
            self._held -= self._size_of(item)
            self._change.notify_all()
            return item

    def close(self) -> None:
        """Stop reading ahead. A thread that hangs in the store is left to end by itself."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join(_LET_GO_SECONDS)

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._put(item, self._size_of(item)):
                    return
        except BaseException as error:  # noqa: BLE001 - it is raised again where the consumer is
            self._put(error, 0)
        else:
            self._put(_End(), 0)

    def _put(self, item: T | BaseException | _End, size: int) -> bool:
        with self._change:
            while self._ready and self._held + size > self._max_bytes and not self._closed:
                self._change.wait()
            self._ready.append(item)
            self._held += size
            self._change.notify_all()
            return not self._closed
