"""The code that ran, kept in the lake under its fingerprint: what replay reads, and what a person can.

The whole text of each module of the project that the steps reach, the description the fingerprint is taken of, and the versions of the
packages. The first writer's stays: code with the same fingerprint does the same, whatever its comments say.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
from typing import Any

from headrace.lake import layout
from headrace.lake.errors import AlreadyThere
from headrace.lake.store import Store
from headrace.manifests.document import Document, from_bytes, to_bytes
from headrace.spec.canonical import plain
from headrace.spec.transform import Transform
from headrace.transforms.fingerprint import Fingerprint, StepCode


def keep_code(lake: Store, transform: Transform, fingerprint: Fingerprint) -> None:
    """Store the code once."""
    key = layout.code(transform.name, fingerprint.digest)
    if lake.head(key) is None:
        content = {
            "fingerprint": fingerprint.digest,
            "code": fingerprint.code,
            "steps": [_step(one) for one in fingerprint.steps],
            "modules": {name: text for one in fingerprint.steps for name, text in one.code.texts.items()},
            "packages": fingerprint.packages,
        }
        with contextlib.suppress(AlreadyThere):
            lake.put_new(key, to_bytes(Document(content=content, run=environment(fingerprint))))


def kept_code(lake: Store, transform: str, fingerprint: str) -> Document:
    """The code kept under a fingerprint. Raises `ObjectMissing`, `DocumentRefused`."""
    key = layout.code(transform, fingerprint)
    return from_bytes(f"{lake.uri}/{key}", lake.get(key).data)


def environment(fingerprint: Fingerprint) -> dict[str, Any]:
    """What the code runs in: Python, and the versions of every package it names."""
    packages = {**fingerprint.recorded, **fingerprint.packages, "pyarrow": importlib.metadata.version("pyarrow")}
    return {"python": platform.python_version(), "machine": platform.machine(), "packages": dict(sorted(packages.items()))}


def _step(one: StepCode) -> dict[str, Any]:
    return {"declaration": plain(one.step), "digest": one.code.digest, "root": one.code.root, "entries": one.code.entries}
