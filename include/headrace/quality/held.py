"""Candidates that were held: stored, listed, in nobody's way.

Each has a record that says why it was held and what became of it. A held day does not stop another day, and is in no release; it stays
until it is approved, or until a better candidate of the same day is released. `headrace gc` keeps what is held.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, get_args

from headrace.lake import layout
from headrace.lake.errors import PointerMoved
from headrace.lake.store import Store
from headrace.manifests.errors import DocumentRefused
from headrace.quality.stored import put
from headrace.spec.canonical import canonical_json

FORMAT: Final = 1
Outcome = Literal["held", "released", "replaced"]


@dataclass(frozen=True, kw_only=True)
class HeldCandidate:
    """One record.

    Attributes:
        manifest: the candidate's digest.
        headline: the verdict's line.
        checks: the checks that hold it.
        held_at: when, as an instant's text; `run`: by which run.
        outcome: `held` until it is released, or another candidate of its day is.
        by: the manifest that was released in its place.
    """

    dataset: str
    partition: str
    manifest: str
    headline: str
    checks: tuple[str, ...]
    held_at: str
    run: str
    outcome: Outcome = "held"
    by: str | None = None


def record_held(lake: Store, candidate: HeldCandidate) -> None:
    """Write the record; a candidate that is held again keeps the first one's time, and its newest reasons."""
    key = layout.held(candidate.dataset, candidate.partition, candidate.manifest)
    before = [
        item for item in held_candidates(lake, candidate.dataset, candidate.partition) if item.manifest == candidate.manifest
    ]
    if before and before[0].outcome == "held":
        candidate = replace(candidate, held_at=before[0].held_at)
    put(lake, key, _bytes(candidate))


def settle(lake: Store, dataset: str, partition: str, released: str) -> None:
    """Say in the partition's records what became of them, now that the manifest `released` is in use."""
    for item in held_candidates(lake, dataset, partition):
        outcome: Outcome = "released" if item.manifest == released else "replaced"
        if item.outcome == "held":
            after = replace(item, outcome=outcome, by=None if outcome == "released" else released)
            try:
                put(lake, layout.held(dataset, partition, item.manifest), _bytes(after))
            except PointerMoved:
                continue  # another run of the same day says the same, or holds it again


def held_candidates(lake: Store, dataset: str, partition: str | None = None) -> list[HeldCandidate]:
    """Every record of a dataset, or of one partition, in key order."""
    keys = [info.key for info in lake.list(layout.held_room(dataset, partition))]
    return [held_from(f"{lake.uri}/{key}", lake.get(key).data) for key in keys]


def held_from(where: str, data: bytes) -> HeldCandidate:
    """The record in these bytes. Raises DocumentRefused for anything else."""
    try:
        fields: dict[str, Any] = json.loads(data)
        form = fields.pop("format")
        candidate = HeldCandidate(**{**fields, "checks": tuple(fields["checks"])})
    except (ValueError, KeyError, TypeError) as error:
        raise DocumentRefused(
            where,
            found=f"{type(error).__name__}: {error}",
            expected="a held candidate's record",
            remedy="Clear the run that held it.",
        ) from error
    if form != FORMAT or candidate.outcome not in get_args(Outcome):
        raise DocumentRefused(
            where,
            found=f"format {form}, outcome {candidate.outcome!r}",
            expected=f"format {FORMAT}, outcome {', '.join(get_args(Outcome))}",
            remedy="Upgrade headrace: this record is newer.",
        )
    return candidate


def _bytes(candidate: HeldCandidate) -> bytes:
    return canonical_json({"format": FORMAT, **asdict(candidate)})
