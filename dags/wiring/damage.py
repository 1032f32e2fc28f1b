"""What a night's verifying found: written down, kept as incidents, told to people once, and raised as an error that names it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from headrace.errors import FinalError
from headrace.settings import runbooks
from headrace.spec.canonical import instant_text
from wiring import telling

if TYPE_CHECKING:
    from headrace.lake.store import Store
    from headrace.runs.night import Verified
    from headrace.shards.verify import Finding

_SHOWN: Final = 5


class LakeDamaged(FinalError):
    """Stored bytes are not the ones their manifest names."""


def damaged_before(lake: Store, dataset: str) -> list[str]:
    """What lies there damaged: open incidents, and what a person's `headrace verify` found meanwhile."""
    from headrace.quality.damage import damaged_partitions
    from headrace.quality.incident_store import read_incidents
    from headrace.runs.verified import damaged_looks, read_looks

    known = damaged_partitions(read_incidents(lake, dataset, "lake"))
    return sorted({*known, *damaged_looks(read_looks(lake, dataset))})


def tell_damage(desk: telling.Desk, found: Verified) -> None:
    """Write down what was read, open an incident for each damaged partition, close those that are right again, and tell what is due."""
    from headrace.quality.damage import looked
    from headrace.quality.incident_store import change_incidents
    from headrace.quality.message import Place
    from headrace.runs.verified import keep_looks

    now = datetime.now(UTC)
    keep_looks(desk.lake, desk.dataset, found, now)
    step = partial(looked, broken=found.broken, right=found.right, at=instant_text(now))
    state = change_incidents(desk.lake, desk.dataset, desk.stream, step)
    place = Place(
        name=desk.dataset,
        run=telling.run_page(),
        report="",
        again=f"headrace verify {desk.dataset}",
        bad=len(found.findings) > 0,
        runbooks=runbooks(),
    )
    telling.tell_due(desk, state, _headline(found), place)


def check_findings(dataset: str, findings: Sequence[Finding]) -> None:
    """Raises LakeDamaged when there is any finding, with the first few of them."""
    if findings:
        shown = "; ".join(f"{one.partition} {one.subject}: {one.found}, expected {one.expected}" for one in findings[:_SHOWN])
        more = f"; and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
        raise LakeDamaged(
            dataset,
            found=f"{len(findings)} damaged: {shown}{more}",
            expected="every byte as its manifest says",
            remedy=findings[0].remedy,
        )


def _headline(found: Verified) -> str:
    broken = sorted(found.broken)
    if not broken:
        return "every byte that was read is right"
    return f"stored bytes are damaged in {len(broken)} of {len(found.partitions)} verified: {', '.join(broken[:_SHOWN])}"
