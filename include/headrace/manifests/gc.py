"""Collecting what nothing can reach any more.

Kept are: the newest releases and those a pointer or tag names, with all their manifests name; whatever is younger than the grace period,
and what young plans, young manifests and held candidates (which wait for a person) need; the group results whose shards are all kept, so
that a later run still finds them. States are kept by their age alone: a run that misses one makes it again. Age is told by the store's
clock. Two passes must agree before anything is removed, and the second follows an announcement that writers look at
(`collecting.py`), so that a publication beside it keeps what it uses. A key this page does not know is never touched.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import ObjectInfo, Store
from headrace.manifests.collecting import announced
from headrace.manifests.document import from_bytes
from headrace.manifests.manifest import Manifest, manifest_from
from headrace.manifests.read import pointers
from headrace.manifests.release import Release

GRACE: Final = timedelta(days=7)
_ROOMS: Final = {
    "shards",
    "index",
    "manifests",
    "releases",
    "inventories",
    "groups",
    "parts",
    "plans",
    "quarantine",
    "verdicts",
    "audits",
    "states",
}


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What would be removed, in key order, and how much stays."""

    dataset: str
    garbage: tuple[ObjectInfo, ...]
    kept_objects: int
    kept_bytes: int

    @property
    def garbage_bytes(self) -> int:
        return sum(info.size_bytes for info in self.garbage)


def find_garbage(store: Store, dataset: str, *, grace: timedelta = GRACE, keep_releases: int | None = None) -> Sweep:
    """Decide what nothing can reach. Removes nothing.

    Args:
        grace: what is younger stays, whatever it is.
        keep_releases: how many of the newest releases stay; None: all.

    Raises:
        DocumentRefused: a release or manifest that is kept cannot be read: nothing is decided without knowing what it needs.
    """
    now = _store_clock(store)
    listed = [info for info in store.list(f"{dataset}/") if _room(dataset, info.key) in _ROOMS]
    young = {info.key for info in listed if info.modified >= now - grace}
    marks = _Marks(store, dataset, {info.key for info in listed})
    marks.keys |= young
    releases = _live_releases(store, dataset, marks, keep_releases)
    manifests = {(partition, digest) for release in releases for partition, digest in release.partitions.items()}
    manifests |= {_manifest_name(key) for key in young if _room(dataset, key) == "manifests"}
    manifests |= _held(store, dataset)
    for partition, digest in sorted(manifests):
        marks.manifest(partition, digest)
    wanted_groups = _groups_of_plans(store, dataset, young)
    for key in sorted(key for key in marks.there if _room(dataset, key) == "groups"):
        marks.group(key, wanted=key in young or key in wanted_groups)
    garbage = sorted((info for info in listed if info.key not in marks.keys), key=lambda info: info.key)
    kept = [info for info in listed if info.key in marks.keys]
    return Sweep(
        dataset=dataset,
        garbage=tuple(garbage),
        kept_objects=len(kept),
        kept_bytes=sum(info.size_bytes for info in kept),
    )


def collect(
    store: Store,
    sweep: Sweep,
    *,
    grace: timedelta = GRACE,
    keep_releases: int | None = None,
    on_removed: Callable[[ObjectInfo], None] = lambda _: None,
) -> int:
    """Remove what `sweep` found and a second look still finds. Returns how many objects went.

    Releases go first: a reader must not find one whose shards are gone.
    """
    with announced(store, sweep.dataset, [info.key for info in sweep.garbage], now=_store_clock(store)):
        again = {info.key for info in find_garbage(store, sweep.dataset, grace=grace, keep_releases=keep_releases).garbage}
        doomed = [info for info in sweep.garbage if info.key in again]
        for info in sorted(doomed, key=lambda one: _room(sweep.dataset, one.key) != "releases"):
            store.delete(info.key)
            on_removed(info)
    return len(doomed)


class _Marks:
    """What is reachable so far, as `keys`; `there` is what was listed."""

    def __init__(self, store: Store, dataset: str, there: set[str]) -> None:
        self.keys: set[str] = set()
        self.there = there
        self._store, self._dataset = store, dataset

    def manifest(self, partition: str, digest: str) -> None:
        """A manifest and everything it names."""
        key = layout.manifest(self._dataset, partition, digest)
        where = f"{self._store.uri}/{key}"
        manifest = manifest_from(where, from_bytes(where, self._store.get(key).data))
        self.keys |= {key, layout.inventory(self._dataset, manifest.inventory_digest), *self._data(manifest)}
        self.keys |= {make(self._dataset, partition, digest) for make in (layout.verdict, layout.report, layout.leakage)}
        for item in manifest.facts.get("quarantined", []):
            base = layout.quarantine(self._dataset, partition) + item["record"]
            self.keys |= {base + ".json", base + ".bytes"}

    def group(self, key: str, *, wanted: bool) -> None:
        """A group result stays when it is wanted, or when all its shards stay anyway; what it names stays with it."""
        try:
            result: dict[str, Any] = json.loads(self._store.get(key).data)
        except ObjectMissing:
            return
        shards = {layout.shard(self._dataset, shard["sha256"]) for shard in result["shards"]}
        if wanted or shards <= self.keys:
            part = result["part"]
            self.keys |= {key, *shards, *([] if part is None else [layout.part(self._dataset, part["sha256"])])}

    def _data(self, manifest: Manifest) -> Iterable[str]:
        yield from (layout.shard(self._dataset, shard.sha256) for shard in manifest.shards)
        yield from (layout.index(self._dataset, entry.sha256) for entry in manifest.index)


def _live_releases(store: Store, dataset: str, marks: _Marks, keep: int | None) -> list[Release]:
    numbers = sorted((_number(key) for key in marks.there if _room(dataset, key) == "releases"), reverse=True)
    live = set(numbers if keep is None else numbers[:keep]) | {pointer.number for pointer in pointers(store, dataset).values()}
    live |= {_number(key) for key in marks.keys if _room(dataset, key) == "releases"}
    found = []
    for number in sorted(live):
        key = layout.release(dataset, number)
        where = f"{store.uri}/{key}"
        found.append(Release.from_document(where, from_bytes(where, store.get(key).data)))
        marks.keys.add(key)
    return found


def _held(store: Store, dataset: str) -> set[tuple[str, str]]:
    """Candidates the gate has held, however long ago: a person may still release them."""
    records = [json.loads(store.get(info.key).data) for info in store.list(layout.held_room(dataset))]
    return {(item["partition"], item["manifest"]) for item in records if item["outcome"] == "held"}


def _groups_of_plans(store: Store, dataset: str, young: set[str]) -> set[str]:
    """Keys of the group results that a running publication counts on."""
    wanted: set[str] = set()
    for key in young:
        if _room(dataset, key) == "plans" and key.endswith("/plan.json"):
            try:
                plan = json.loads(store.get(key).data)
            except ObjectMissing:
                continue
            wanted |= {layout.group(dataset, digest) for _, _, digest in plan["groups"]}
    return wanted


def _store_clock(store: Store) -> datetime:
    """Now, as the store tells it: ages are compared with the times it stamped."""
    key = f"probe/{uuid.uuid4().hex}"
    store.put_new(key, b"what time is it")
    info = store.head(key)
    store.delete(key)
    if info is None:
        raise ObjectMissing(f"{store.uri}/{key}", found="nothing", expected="the object just written", remedy="Try again.")
    return info.modified


def _room(dataset: str, key: str) -> str:
    return key.removeprefix(f"{dataset}/").partition("/")[0]


def _number(key: str) -> int:
    return int(key.rpartition("/")[2].removesuffix(".json"))


def _manifest_name(key: str) -> tuple[str, str]:
    folder, _, name = key.rpartition("/")
    return folder.rpartition("/")[2], name.removesuffix(".json")
