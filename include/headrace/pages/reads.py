"""Reading many small documents for one page: listed, fetched together, and kept while their ETag stands.

A year of a dataset is 365 manifests; a page must not ask for them one by one, nor again for what never changes. At most
`KEPT` documents are kept, the longest unused go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from headrace.lake import layout
from headrace.lake.store import ObjectInfo, Store, View
from headrace.manifests.document import Document, from_bytes
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.manifest import Manifest, manifest_from
from headrace.manifests.read import latest
from headrace.manifests.release import Release

KEPT: Final = 2000


class Reads:
    """Cached reads of one lake. Safe for the threads of a server."""

    def __init__(self, lake: Store) -> None:
        self.lake = lake
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], Document] = OrderedDict()

    def release(self, dataset: str) -> Release | None:
        """The release in use, None when nothing was published."""
        found = latest(self.lake, dataset)
        return None if found is None else found.release

    def release_document(self, dataset: str, number: int) -> Document | None:
        """A release with the part that says who made it; None when there is none."""
        info = self.lake.head(layout.release(dataset, number))
        return None if info is None else self.documents([info])[info.key]

    def manifests(self, release: Release, partitions: Iterable[str] | None = None) -> dict[str, Manifest]:
        """The manifests of a release, or of some of its partitions, by partition."""
        return {name: manifest_from(name, document) for name, document in self.manifest_documents(release, partitions).items()}

    def manifest_documents(self, release: Release, partitions: Iterable[str] | None = None) -> dict[str, Document]:
        """As `manifests`, with the part that says who made each. Raises `DocumentRefused` when one cannot be read."""
        names = list(release.partitions) if partitions is None else list(partitions)
        keys = {layout.manifest(release.dataset, name, release.partitions[name]): name for name in names}
        found = self.documents(self._infos(release.dataset, keys))
        lacking = sorted(keys.keys() - found.keys())
        if lacking:
            raise DocumentRefused(
                f"{self.lake.uri}/{lacking[0]}", found="nothing", expected="the manifest a release names", remedy="Restore it."
            )
        return {keys[key]: document for key, document in found.items()}

    def documents(self, infos: Iterable[ObjectInfo]) -> dict[str, Document]:
        """Documents by key. One that cannot be read raises `DocumentRefused`; one that vanished is left out."""
        wanted = list(infos)
        with self._lock:
            found = {info.key: self._kept[info.key, info.etag] for info in wanted if (info.key, info.etag) in self._kept}
        for answer in self.lake.get_many([info for info in wanted if info.key not in found]):
            if isinstance(answer.body, View):
                key = answer.wanted.key
                found[key] = from_bytes(f"{self.lake.uri}/{key}", bytes(answer.body.data))
        self._keep(wanted, found)
        return found

    def _infos(self, dataset: str, keys: dict[str, str]) -> list[ObjectInfo]:
        """A few keys are asked for one by one, many are found by listing."""
        if len(keys) <= 8:
            return [info for key in keys if (info := self.lake.head(key)) is not None]
        return [info for info in self.lake.list(layout.all_manifests(dataset)) if info.key in keys]

    def _keep(self, wanted: list[ObjectInfo], found: dict[str, Document]) -> None:
        with self._lock:
            for info in wanted:
                if info.key in found:
                    self._kept[info.key, info.etag] = found[info.key]
                    self._kept.move_to_end((info.key, info.etag))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
