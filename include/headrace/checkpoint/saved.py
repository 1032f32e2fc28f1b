"""One checkpoint's document: which parts a training state has, and what it belongs to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.manifests.document import Document
from headrace.manifests.errors import DocumentRefused


@dataclass(frozen=True, kw_only=True)
class PartEntry:
    """One stored part. `kind`: see `parts.py`."""

    name: str
    kind: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A whole training state.

    Attributes:
        number: counted up from 1 under one name.
        step: of the training, as the training counts.
        parts: all of them, by name; none refers to another checkpoint, so each stands for itself.
        about: code version, configuration, data version: JSON values.
    """

    number: int
    step: int
    parts: tuple[PartEntry, ...]
    about: dict[str, Any] = field(default_factory=dict)

    def document(self, run: dict[str, Any]) -> Document:
        content = {
            "number": self.number,
            "step": self.step,
            "parts": [asdict(part) for part in self.parts],
            "about": self.about,
        }
        return Document(content=content, run=run)


def saved_from(where: str, document: Document) -> Saved:
    """The inverse of `Saved.document`. Raises `DocumentRefused`."""
    content = document.content
    try:
        return Saved(
            number=content["number"],
            step=content["step"],
            parts=tuple(PartEntry(**part) for part in content["parts"]),
            about=content["about"],
        )
    except (KeyError, TypeError) as error:
        raise DocumentRefused(
            where, found=f"{type(error).__name__}: {error}", expected="a checkpoint", remedy="Restore an older one."
        ) from error
