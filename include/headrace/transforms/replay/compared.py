"""What can be said of a sample without running anything: its source as it is now, its code as it is written now, its packages.

For where nobody's code may run, such as a web server. A source is compared by ETag, and where that is another by the sample's digest. Code
is compared by its declaration and by the whole texts of the modules that were kept with the release: no module is imported. So "the same
text" is certain, and a text that differs says only that: a comment may be all, and `replay` tells. Whether the code still gives the
recorded output is what this cannot say at all.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from typing import Any, Final

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.errors import DocumentRefused
from headrace.manifests.manifest import Manifest
from headrace.spec.canonical import plain
from headrace.spec.dataset import Dataset
from headrace.spec.load import Declarations
from headrace.spec.transform import Transform
from headrace.transforms.changes import changed_steps, changed_versions, recorded_environment
from headrace.transforms.code_store import kept_code
from headrace.transforms.replay.origin import SourceState, find_origin
from headrace.transforms.replay.way import Stand, way_to

MOST_BYTES: Final = 64_000_000
"""Larger objects are compared by their ETag alone."""
_BY_VERSION: Final = ("packages", "recorded")  # what they name is compared by version


class CodeState(StrEnum):
    """What became of a transform's code, as far as reading tells."""

    SAME = "same text"
    TEXT_DIFFERS = "text differs"
    CHANGED = "declared otherwise"
    GONE = "not declared any more"
    UNKNOWN = "not kept"


@dataclass(frozen=True, kw_only=True)
class SourceLook:
    """The source object, as recorded and as found. `state` is None where it could not be compared; `how` says how, or why not."""

    state: SourceState | None
    key: str
    recorded_etag: str
    found_etag: str | None
    how: str


@dataclass(frozen=True, kw_only=True)
class CodeLook:
    """One transform on the way: its code, what differs in words, and packages that are installed here in another version."""

    transform: str
    partition: str
    fingerprint: str
    state: CodeState
    differences: tuple[str, ...]
    packages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """All that was compared, in the order data flows."""

    source: SourceLook
    code: tuple[CodeLook, ...]

    @property
    def verdict(self) -> str:
        """The first that applies, as a replay would have it, but for what only running shows."""
        states = {one.state for one in self.code}
        if self.source.state in (SourceState.GONE, SourceState.CHANGED):
            return f"source {self.source.state}"
        if states & {CodeState.CHANGED, CodeState.GONE}:
            return "transform changed"
        if self.source.state is None or states & {CodeState.TEXT_DIFFERS, CodeState.UNKNOWN}:
            return "not decided"
        return "environment differs" if any(one.packages for one in self.code) else "nothing differs"


def compare_sample(
    manifest: Manifest, sample_id: str, row: pa.Table, declared: Declarations, *, lake: Store, source: Store | None
) -> Compared:
    """Compare one sample of a partition with today. `source` is None where nobody said where source objects lie.

    Raises:
        NotReplayable: it is computed from many samples.
    """
    stands = way_to(Stand(manifest=manifest, sample_id=sample_id, row=row), lake)
    made = {one.name: one for one in declared.transforms}
    return Compared(
        source=_look_at_source(stands[0], declared, source),
        code=tuple(_look_at_code(one.manifest, made.get(one.manifest.dataset), lake) for one in stands[1:]),
    )


def code_state(kept: Mapping[str, Any], transform: Transform) -> tuple[CodeState, tuple[str, ...]]:
    """The code of a kept document against today's declaration and texts, with what differs in words."""
    recorded = [one["declaration"] for one in kept["steps"]]
    lines = changed_steps(recorded, transform.steps)
    if not lines and [_declared(one) for one in recorded] != [_declared(plain(step)) for step in transform.steps]:
        lines = ("a step is declared otherwise",)
    if lines:
        return CodeState.CHANGED, lines
    texts: dict[str, str] = kept["modules"]
    differing = tuple(name for name, text in sorted(texts.items()) if text_now(name) != text)
    return (CodeState.TEXT_DIFFERS, tuple(f"module {name}" for name in differing)) if differing else (CodeState.SAME, ())


def text_now(module: str) -> str | None:
    """The source text of a module as its file holds it now, without importing it; None when there is none."""
    spec = _spec_of(module)
    loader: Any = None if spec is None else spec.loader
    if spec is None or not hasattr(loader, "get_source"):
        return None
    with contextlib.suppress(OSError, ImportError):
        text: str | None = loader.get_source(spec.name)
        return text
    return None


def _spec_of(module: str) -> ModuleSpec | None:
    """As the import system would find it. What is loaded says where it is; of the rest, parents are looked for and not imported."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        return loaded.__spec__
    parent = module.rpartition(".")[0]
    if parent == "":
        return _find(module, sys.path)
    package = _spec_of(parent)
    where = None if package is None else package.submodule_search_locations
    return None if where is None else _find(module, where)


def _find(module: str, folders: Iterable[str]) -> ModuleSpec | None:
    """The first source file of that name; else the folders of that name together, a namespace."""
    portions: list[str] = []
    for folder in folders:
        found = FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(module)
        if found is not None and found.loader is not None:
            return found
        portions += [] if found is None else found.submodule_search_locations or []
    space = ModuleSpec(module, None)
    space.submodule_search_locations = portions
    return space if portions else None


def _declared(step: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in step.items() if name not in _BY_VERSION}


def _look_at_source(first: Stand, declared: Declarations, source: Store | None) -> SourceLook:
    if first.row is None:
        return SourceLook(
            state=None, key="", recorded_etag="", found_etag=None, how="The landed sample is not in the lake any more."
        )
    key, etag = (str(first.row.column(name)[0].as_py()) for name in ("source_key", "source_etag"))
    dataset = next((one for one in declared.datasets if one.name == first.manifest.dataset), None)
    try:
        state, found, how = _compare_source(first.row, key, etag, dataset, source)
    except HeadraceError as error:
        state, found, how = None, None, str(error)
    return SourceLook(state=state, key=key, recorded_etag=etag, found_etag=found, how=how)


def _compare_source(
    row: pa.Table, key: str, etag: str, dataset: Dataset | None, source: Store | None
) -> tuple[SourceState | None, str | None, str]:
    """(state, ETag now, how it was told). Reads the object only where its ETag is another."""
    if source is None:
        return None, None, "Where source objects lie is not known here: HEADRACE_SOURCE is not set."
    info = source.head(key)
    if info is None:
        return SourceState.GONE, None, "There is no such object any more."
    if info.etag == etag:
        return SourceState.SAME, info.etag, "By its ETag; its bytes were not read."
    if dataset is None or info.size_bytes > MOST_BYTES:
        why = "it is not declared any more" if dataset is None else f"it has {info.size_bytes:,} bytes"
        return None, info.etag, f"Another ETag; the sample itself was not compared: {why}."
    origin = find_origin(source, dataset, row)
    words = "the sample in it has the recorded digest" if origin.state is SourceState.SAME else "the sample in it is another"
    return origin.state, origin.found_etag, f"Another ETag; {words}."


def _look_at_code(manifest: Manifest, transform: Transform | None, lake: Store) -> CodeLook:
    recorded: dict[str, Any] = manifest.facts["transform"]
    state, differences = _kept_state(manifest.dataset, recorded, transform, lake)
    return CodeLook(
        transform=manifest.dataset,
        partition=manifest.partition,
        fingerprint=str(recorded["fingerprint"]),
        state=state,
        differences=differences,
        packages=_packages(manifest, recorded["packages"], lake),
    )


def _kept_state(
    name: str, recorded: Mapping[str, Any], transform: Transform | None, lake: Store
) -> tuple[CodeState, tuple[str, ...]]:
    if transform is None:
        return CodeState.GONE, ()
    try:
        return code_state(kept_code(lake, name, str(recorded["fingerprint"])).content, transform)
    except (ObjectMissing, DocumentRefused) as error:
        return CodeState.UNKNOWN, (str(error),)


def _packages(manifest: Manifest, named: Mapping[str, str], lake: Store) -> tuple[str, ...]:
    """What the run recorded of its packages and its Python, where this process has another version or none."""
    run = recorded_environment(lake, manifest)
    then = {**run.get("packages", {}), **named, "python": run.get("python", platform.python_version())}
    now = {name: _installed(name) for name in then if name != "python"}
    return changed_versions(then, {**now, "python": platform.python_version()})


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
