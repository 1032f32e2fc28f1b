"""A store whose every call is timed as a stage of the task that made it.

`open_store` wraps a store in this while a recorder is under way (`headrace.stages`), so the rooms above need not know. What a call is for
follows from the verb: listing, reading, writing a file, reading back to verify it, publishing a small object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from headrace.lake.store import Body, Fetched, ObjectInfo, Store, Stored, View
from headrace.stages import Recorder, Stage, stage

T = TypeVar("T")


class MeasuredStore:
    """The same verbs, timed. Errors pass through; their time counts."""

    def __init__(self, store: Store, recorder: Recorder) -> None:
        self._store, self._recorder = store, recorder

    @property
    def uri(self) -> str:
        return self._store.uri

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return _timed(Stage.LIST, self._store.list(prefix))

    def head(self, key: str) -> ObjectInfo | None:
        with stage(Stage.LIST):
            return self._store.head(key)

    def get(self, key: str, *, etag: str | None = None) -> Body:
        with stage(Stage.READ):
            body = self._store.get(key, etag=etag)
        self._recorder.count(Stage.READ, bytes_in=len(body.data))
        return body

    def get_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        with stage(Stage.READ):
            data = self._store.get_range(key, start, end, etag=etag)
        self._recorder.count(Stage.READ, bytes_in=len(data))
        return data

    def get_many(self, wanted: Iterable[ObjectInfo]) -> Iterator[Fetched]:
        for answer in _timed(Stage.READ, self._store.get_many(wanted)):
            if isinstance(answer.body, View):
                self._recorder.count(Stage.READ, bytes_in=len(answer.body.data))
            yield answer

    def stored(self, key: str) -> Stored | None:
        with stage(Stage.VERIFY):
            found = self._store.stored(key)
        self._recorder.count(Stage.VERIFY, bytes_in=0 if found is None else found.size_bytes)
        return found

    def put_new(self, key: str, data: bytes) -> str:
        with stage(Stage.PUBLISH):
            etag = self._store.put_new(key, data)
        self._recorder.count(Stage.PUBLISH, bytes_out=len(data))
        return etag

    def put_file(self, key: str, path: Path) -> None:
        size_bytes = path.stat().st_size
        with stage(Stage.WRITE):
            self._store.put_file(key, path)
        self._recorder.count(Stage.WRITE, bytes_out=size_bytes)

    def swap(self, key: str, data: bytes, *, expected: str | None) -> str:
        with stage(Stage.PUBLISH):
            etag = self._store.swap(key, data, expected=expected)
        self._recorder.count(Stage.PUBLISH, bytes_out=len(data))
        return etag

    def delete(self, key: str) -> None:
        with stage(Stage.PUBLISH):
            self._store.delete(key)


def _timed(name: Stage, items: Iterator[T]) -> Iterator[T]:
    """The items; only the time it takes to get each counts, not what the caller does between."""
    while True:
        with stage(name):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
