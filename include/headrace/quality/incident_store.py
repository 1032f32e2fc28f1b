"""Incidents in the lake: one small document per dataset and stream, changed by compare-and-swap.

Every change is a pure step that is applied again to the newer state when another run was first, so no run's findings are lost.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, Literal

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing, PointerMoved
from headrace.lake.store import Store
from headrace.manifests.errors import DocumentRefused, PublicationContended
from headrace.quality.incidents import Claim, Incident, Incidents, Quiet
from headrace.spec.canonical import canonical_json

FORMAT: Final = 1
TRIES: Final = 100
Stream = Literal["gate", "monitor", "lake"]
STREAMS: Final[tuple[Stream, ...]] = ("gate", "monitor", "lake")
"""What the gate says of candidates, the monitor of live data, and verifying of stored bytes."""


def read_incidents(lake: Store, dataset: str, stream: Stream) -> Incidents:
    """The state now; empty where nothing was ever wrong."""
    return _read(lake, dataset, stream)[0]


def change_incidents(lake: Store, dataset: str, stream: Stream, step: Callable[[Incidents], Incidents]) -> Incidents:
    """Apply a pure step and return the state after it. A step that returns the state it was given writes nothing.

    Raises:
        PublicationContended: other runs were first `TRIES` times.
    """
    for attempt in range(TRIES):
        state, etag = _read(lake, dataset, stream)
        after = step(state)
        if after == state:
            return state
        try:
            lake.swap(layout.incidents(dataset, stream), incidents_bytes(after), expected=etag)
        except PointerMoved:
            time.sleep(random.uniform(0, 0.01) * min(attempt + 1, 20))  # noqa: S311 - spreads racing writers, guards nothing
            continue
        return after
    raise PublicationContended(
        f"{lake.uri}/{layout.incidents(dataset, stream)}", found=f"{TRIES} lost races", expected="a turn", remedy="Try again."
    )


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


def _read(lake: Store, dataset: str, stream: Stream) -> tuple[Incidents, str | None]:
    key = layout.incidents(dataset, stream)
    try:
        body = lake.get(key)
    except ObjectMissing:
        return Incidents(), None
    return incidents_from(f"{lake.uri}/{key}", body.data), body.etag
