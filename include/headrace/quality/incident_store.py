"""Incidents in the lake: one small document per dataset and stream, changed by compare-and-swap."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, Final, Literal

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.change import change_document
from headrace.manifests.errors import DocumentRefused
from headrace.quality.incidents import Claim, Incident, Incidents, Quiet
from headrace.spec.canonical import canonical_json

FORMAT: Final = 1
Stream = Literal["gate", "monitor", "lake"]
STREAMS: Final[tuple[Stream, ...]] = ("gate", "monitor", "lake")
"""What the gate says of candidates, the monitor of live data, and verifying of stored bytes."""


def read_incidents(lake: Store, dataset: str, stream: Stream) -> Incidents:
    """The state now; empty where nothing was ever wrong."""
    key = layout.incidents(dataset, stream)
    try:
        return incidents_from(f"{lake.uri}/{key}", lake.get(key).data)
    except ObjectMissing:
        return Incidents()


def change_incidents(lake: Store, dataset: str, stream: Stream, step: Callable[[Incidents], Incidents]) -> Incidents:
    """Apply a pure step and return the state after it. A step that returns the state it was given writes nothing.

    Raises:
        PublicationContended: other runs were always first.
    """
    key = layout.incidents(dataset, stream)
    return change_document(lake, key, step, read=partial(_state, f"{lake.uri}/{key}"), write=incidents_bytes)


def incidents_bytes(state: Incidents) -> bytes:
    """Canonical JSON with the format's number."""
    judged = [[partition, digest] for partition, digest in state.judged.items()]
    return canonical_json({"format": FORMAT, **asdict(state), "judged": judged})


def incidents_from(where: str, data: bytes) -> Incidents:
    """The inverse of `incidents_bytes`. Raises DocumentRefused for anything else, a newer format by its number."""
    try:
        fields: dict[str, Any] = json.loads(data)
        form = fields["format"]
        state = Incidents(
            next_number=fields["next_number"],
            incidents=tuple(Incident(**item) for item in fields["incidents"]),
            judged=dict(fields["judged"]),
            backlog=tuple(Quiet(**item) for item in fields["backlog"]),
            claims={route: Claim(**item) for route, item in fields["claims"].items()},
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DocumentRefused(
            where,
            found=f"{type(error).__name__}: {error}",
            expected=f"incidents, format {FORMAT}",
            remedy="Restore the object, or delete it: incidents then open anew.",
        ) from error
    if form != FORMAT:
        raise DocumentRefused(
            where, found=f"format {form}", expected=f"format {FORMAT}", remedy="Upgrade headrace: this document is newer."
        )
    return state


def _state(where: str, data: bytes | None) -> Incidents:
    return Incidents() if data is None else incidents_from(where, data)
