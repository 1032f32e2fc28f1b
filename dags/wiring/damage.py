"""Damage found by verifying, as an error that names it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.errors import FinalError

if TYPE_CHECKING:
    from headrace.shards.verify import Finding

_SHOWN = 5


class LakeDamaged(FinalError):
    """Stored bytes are not the ones their manifest names."""


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
