"""Saving and restoring training states: a reader finds the old one or the new one, whole.

A part goes to a temporary file, is hashed, stored under its hash and read back; the document that lists all parts is written create-only
under the next number; then the pointer moves by compare-and-swap. Killed anywhere, the pointer names a whole state. A part whose hash is
the last state's is not stored again, yet every document lists every part: there is no chain to follow on restart. One process saves under
a name; a second one is noticed when the pointer has moved, and refused.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from headrace import __version__
from headrace.checkpoint.errors import CheckpointContended, CheckpointsDamaged
from headrace.checkpoint.parts import Encoded, decoded, encoded
from headrace.checkpoint.saved import PartEntry, Saved, saved_from
from headrace.errors import HeadraceError
from headrace.lake import layout
from headrace.lake.errors import AlreadyThere, ObjectMissing, PointerMoved, StoredBytesDiffer
from headrace.lake.immutable import upload_verified
from headrace.lake.probe import require_conditional_writes
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes, to_bytes
from headrace.spec.canonical import canonical_json, instant_text
from headrace.spec.errors import check
from headrace.spec.names import check_name

_NUMBER: Final = re.compile(r"(\d{8})\.json")
_SPARED: Final = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A checkpoint that could not be restored, and why."""

    checkpoint: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The newest whole state.

    Attributes:
        saved: its document: number, step, parts, about.
        skipped: newer ones that are damaged.
        data: part name -> verified bytes.
    """

    saved: Saved
    skipped: tuple[Skipped, ...]
    data: dict[str, bytes] = field(repr=False)

    @property
    def step(self) -> int:
        return self.saved.step

    def part(self, name: str) -> Any:
        """A part as it was given to `save`. Raises KeyError for a name it has not."""
        entry = next((part for part in self.saved.parts if part.name == name), None)
        if entry is None:
            raise KeyError(
                f"checkpoint {self.saved.number} has no part {name!r}, only {[part.name for part in self.saved.parts]}"
            )
        return decoded(name, entry.kind, self.data[name])


class Checkpoints:
    """The training states of one run. `keep_last`: how many stay; at least 1."""

    def __init__(self, store: Store, run: str, *, keep_last: int = 3) -> None:
        check_name("Checkpoints", "run", run)
        check(keep_last >= 1, "Checkpoints", "keep_last", keep_last, "at least 1")
        self._store = store
        self._run = run
        self._keep_last = keep_last
        self._seen: str | None = None
        self._saved_before = False

    def save(self, *, step: int, parts: Mapping[str, Any], about: Mapping[str, Any]) -> Saved:
        """Store one consistent state. When this returns, it is the one that will be restored.

        Args:
            step: of the training.
            parts: name -> bytes, array, plain values or `TorchState`.
            about: code version, configuration, data version.

        Raises:
            CheckpointContended: another process has saved under this name meanwhile.
            PartRefused: a part is of no kind that can be stored. Nothing is published.
        """
        return self.publish(step=step, parts=self.upload(parts), about=about)

    def upload(self, parts: Mapping[str, Any]) -> tuple[PartEntry, ...]:
        """Store parts without publishing them: every rank stores its own, one of them publishes all."""
        made = {name: encoded(name, value) for name, value in sorted(parts.items())}
        return tuple(self._stored(name, part) for name, part in made.items())

    def publish(self, *, step: int, parts: tuple[PartEntry, ...], about: Mapping[str, Any]) -> Saved:
        """Make uploaded parts the newest state. Raises as `save`."""
        require_conditional_writes(self._store)
        self._check_there(parts)
        expected = self._etag()
        numbers = self._numbers()
        saved = Saved(number=max(numbers, default=0) + 1, step=step, parts=parts, about=json.loads(canonical_json(dict(about))))
        data = to_bytes(saved.document({"saved_at": instant_text(datetime.now(UTC)), "headrace": __version__}))
        key = layout.checkpoint(self._run, saved.number)
        try:
            self._store.put_new(key, data)
        except AlreadyThere as error:
            if self._store.get(key).data != data:
                raise self._contended(f"checkpoint {saved.number} by another process") from error
        if self._store.get(key).data != data:
            raise StoredBytesDiffer(
                f"{self._store.uri}/{key}", found="other bytes", expected="what was written", remedy="Save again."
            )
        self._point(saved.number, expected)
        self._prune([*numbers, saved.number], saved.number)
        return saved

    def restore(self) -> Restored | None:
        """The newest state that is whole, checked byte by byte; None when nothing was ever saved.

        Raises:
            CheckpointsDamaged: there are checkpoints, and none is whole. Training from zero is a person's decision.
        """
        skipped: list[Skipped] = []
        for number in self._newest_first(skipped):
            key = layout.checkpoint(self._run, number)
            try:
                where = f"{self._store.uri}/{key}"
                saved = saved_from(where, from_bytes(where, self._store.get(key).data))
                data = {part.name: self._read(part) for part in saved.parts}
            except HeadraceError as error:
                skipped.append(Skipped(checkpoint=key, why=str(error)))
            else:
                return Restored(saved=saved, skipped=tuple(skipped), data=data)
        if skipped:
            raise CheckpointsDamaged(
                f"{self._store.uri}: checkpoints of {self._run}",
                found=" ".join(f"{one.checkpoint}: {one.why}" for one in skipped).rstrip("."),
                expected="at least one whole checkpoint",
                remedy="Restore the objects, or start from the beginning under another name.",
            )
        return None

    def _stored(self, name: str, part: Encoded) -> PartEntry:
        sha256 = hashlib.sha256(part.data).hexdigest()
        entry = PartEntry(name=name, kind=part.kind, sha256=sha256, size_bytes=len(part.data))
        key = layout.checkpoint_part(self._run, sha256)
        # An unchanged part is read back and not sent again: all states share that one copy, so it must still be good.
        with tempfile.NamedTemporaryFile(prefix="headrace-") as file:
            file.write(part.data)
            file.flush()
            upload_verified(self._store, key, Path(file.name), sha256=sha256)
        return entry

    def _check_there(self, parts: tuple[PartEntry, ...]) -> None:
        for part in parts:
            info = self._store.head(layout.checkpoint_part(self._run, part.sha256))
            if info is None or info.size_bytes != part.size_bytes:
                raise StoredBytesDiffer(
                    f"{self._store.uri}: part {part.name}",
                    found="no object" if info is None else f"{info.size_bytes} bytes",
                    expected=f"{part.size_bytes} bytes",
                    remedy="Upload the part again, then publish.",
                )

    def _read(self, part: PartEntry) -> bytes:
        key = layout.checkpoint_part(self._run, part.sha256)
        data = self._store.get(key).data
        found = hashlib.sha256(data).hexdigest()
        if found != part.sha256:
            raise StoredBytesDiffer(
                f"part {part.name}",
                found=f"{len(data)} bytes with SHA-256 {found}",
                expected=f"SHA-256 {part.sha256}",
                remedy=f"The stored {key} was altered.",
            )
        return data

    def _numbers(self) -> list[int]:
        names = (info.key.rpartition("/")[2] for info in self._store.list(layout.checkpoints(self._run)))
        return sorted(int(match[1]) for name in names if (match := _NUMBER.fullmatch(name)) is not None)

    def _newest_first(self, skipped: list[Skipped]) -> list[int]:
        """The pointer's number and those below it; all of them when the pointer cannot be read."""
        numbers, key = self._numbers()[::-1], layout.checkpoint_pointer(self._run)
        try:
            body = self._store.get(key)
            top = int(json.loads(body.data)["number"])
        except ObjectMissing:
            return numbers
        except (ValueError, KeyError, TypeError) as error:
            skipped.append(Skipped(checkpoint=key, why=f"unreadable: {error}"))
            return numbers
        self._seen, self._saved_before = body.etag, True
        return [top, *(number for number in numbers if number < top)]

    def _etag(self) -> str | None:
        """The pointer's ETag, which must be the one this process left or restored from."""
        info = self._store.head(layout.checkpoint_pointer(self._run))
        found = None if info is None else info.etag
        if self._saved_before and found != self._seen:
            raise self._contended("a pointer that another process has moved")
        return found

    def _point(self, number: int, expected: str | None) -> None:
        key = layout.checkpoint_pointer(self._run)
        data = canonical_json({"format": 1, "number": number})
        try:
            self._seen = self._store.swap(key, data, expected=expected)
        except PointerMoved as error:
            body = self._store.get(key)
            if body.data != data:
                raise self._contended("a pointer that another process moved at the same time") from error
            self._seen = body.etag  # our own answer was lost
        self._saved_before = True

    def _contended(self, found: str) -> CheckpointContended:
        return CheckpointContended(
            f"{self._store.uri}: checkpoints of {self._run}",
            found=found,
            expected="one process that saves under this name",
            remedy="Stop the other one, or give this training another name; then restore and go on.",
        )

    def _prune(self, numbers: list[int], newest: int) -> None:
        """Keep the last states and what they are made of. Parts younger than an hour may belong to a save under way and stay."""
        kept = set(sorted(set(numbers))[-self._keep_last :]) | {newest}
        for number in set(numbers) - kept:
            self._store.delete(layout.checkpoint(self._run, number))
        try:
            needed = {part.sha256 for number in kept for part in self._document(number).parts}
        except HeadraceError:
            return  # a damaged document hides which parts it needs: all of them stay
        for info in list(self._store.list(layout.checkpoint_parts(self._run))):
            old = datetime.now(UTC) - info.modified > _SPARED
            if old and info.key.rpartition("/")[2] not in needed:
                self._store.delete(info.key)

    def _document(self, number: int) -> Saved:
        key = layout.checkpoint(self._run, number)
        where = f"{self._store.uri}/{key}"
        return saved_from(where, from_bytes(where, self._store.get(key).data))
