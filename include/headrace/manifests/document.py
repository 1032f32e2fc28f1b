"""How manifests, releases and verdicts lie in the lake.

`{"format": 1, "digest": ..., "content": {...}, "run": {...}}` as canonical JSON. The digest is SHA-256 over `content` alone: what
differs between two identical runs (run ID, clock, host) stands in `run` and changes nothing. A reader checks the digest, and
refuses a newer format by its number.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from headrace.manifests.errors import DocumentRefused
from headrace.spec.canonical import canonical_json, digest_of

FORMAT: Final = 1


@dataclass(frozen=True, kw_only=True)
class Document:
    """A stored document: digested content, and the run that made it."""

    content: dict[str, Any]
    run: dict[str, Any]

    @property
    def digest(self) -> str:
        return digest_of(self.content)


def to_bytes(document: Document) -> bytes:
    """Canonical JSON with the digest inside."""
    return canonical_json({"format": FORMAT, "digest": document.digest, "content": document.content, "run": document.run})


def from_bytes(where: str, data: bytes) -> Document:
    """Read and check a document. `where` is named in errors.

    Raises:
        DocumentRefused: for what is not JSON, of a newer format, or not the content its digest names.
    """
    try:
        fields = json.loads(data)
        found = fields["format"]
        if found != FORMAT:
            raise _refused(where, f"format {found}", f"format {FORMAT}", "Upgrade headrace: this document is newer.")
        document = Document(content=fields["content"], run=fields["run"])
        stated = fields["digest"]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DocumentRefused):
            raise
        raise _refused(
            where, f"{type(error).__name__}: {error}", "a Headrace document", "Restore the object, or run the partition again."
        ) from error
    if document.digest != stated:
        raise _refused(where, f"content with digest {document.digest}", f"digest {stated}", "The object was altered: restore it.")
    return document


def _refused(where: str, found: str, expected: str, remedy: str) -> DocumentRefused:
    return DocumentRefused(where, found=found, expected=expected, remedy=remedy)
