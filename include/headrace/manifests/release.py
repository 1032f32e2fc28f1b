"""The release: one version of a dataset, an immutable ordered list of manifests.

A release has a number (how it came about) and a digest (what it is): the same set of manifests has the same digest, whatever the order
of the runs that made it. Notes (a warning it was promoted with, a person's approval) belong to how it came about.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from headrace.manifests.document import FORMAT, Document
from headrace.manifests.errors import DocumentRefused
from headrace.spec.canonical import canonical_json


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something people should know about one partition of a release, kept as long as its manifest is in use."""

    partition: str
    manifest: str
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Release:
    """`partitions` maps each partition key to its manifest's digest; `parent` is the number before, None for the first."""

    dataset: str
    number: int
    parent: int | None
    partitions: dict[str, str]
    notes: tuple[Note, ...] = ()

    @property
    def digest(self) -> str:
        return Document(content=self.content, run={}).digest

    @property
    def content(self) -> dict[str, Any]:
        """The digested part: partitions in key order, so that one changed partition is one changed line."""
        ordered = [{"partition": key, "manifest": self.partitions[key]} for key in sorted(self.partitions)]
        return {"dataset": self.dataset, "partitions": ordered}

    def document(self, run: dict[str, Any]) -> Document:
        """The release as it is stored; number, parent and notes stand in the part that is not digested."""
        notes = [[note.partition, note.manifest, note.kind, note.text] for note in self.notes]
        return Document(content=self.content, run={**run, "number": self.number, "parent": self.parent, "notes": notes})

    @classmethod
    def from_document(cls, where: str, document: Document) -> Self:
        """The inverse of `document`."""
        try:
            partitions = {line["partition"]: line["manifest"] for line in document.content["partitions"]}
            notes = tuple(
                Note(partition=partition, manifest=manifest, kind=kind, text=text)
                for partition, manifest, kind, text in document.run["notes"]
            )
            return cls(
                dataset=document.content["dataset"],
                number=document.run["number"],
                parent=document.run["parent"],
                partitions=partitions,
                notes=notes,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DocumentRefused(
                where, found=f"{type(error).__name__}: {error}", expected="a release", remedy="Restore the object."
            ) from error


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """What `LATEST` and tags hold: a release's number and digest."""

    number: int
    digest: str

    def to_bytes(self) -> bytes:
        return canonical_json({"format": FORMAT, "number": self.number, "digest": self.digest})

    @classmethod
    def from_bytes(cls, where: str, data: bytes) -> Self:
        try:
            fields = json.loads(data)
            found, pointer = fields["format"], cls(number=fields["number"], digest=fields["digest"])
        except (ValueError, KeyError, TypeError) as error:
            raise DocumentRefused(
                where,
                found=repr(data[:80]),
                expected="a pointer to a release",
                remedy="Restore it; or delete it and `headrace rollback <dataset> --to` the newest number under releases/.",
            ) from error
        if found != FORMAT:
            raise DocumentRefused(
                where, found=f"format {found}", expected=f"format {FORMAT}", remedy="Upgrade headrace: this pointer is newer."
            )
        return pointer
