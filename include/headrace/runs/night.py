"""One night's verifying of one dataset: its share of partitions, and whatever was damaged before.

Every finding names its partition, and nothing stops at the first: a manifest that cannot be read is a finding like a flipped byte. A store
that does not answer, or refuses us, says nothing about the bytes: then the night fails and finds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from headrace.errors import FinalError
from headrace.lake.errors import AccessRefused
from headrace.lake.store import Store
from headrace.manifests.read import latest, manifest_of
from headrace.manifests.release import Release
from headrace.runs.rotation import share_of
from headrace.shards.verify import Finding, finding_of, verify_partition

RELEASE: Final = "release"
"""Stands for the pointer and the release document themselves."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What was found.

    Attributes:
        partitions: those that were read whole, and `release`, in order.
        release: the manifest of each partition of the release in use; empty when that could not be read.
        findings: everything that is wrong.
        gone: partitions damaged before that the release does not hold any more.
    """

    partitions: tuple[str, ...]
    release: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def broken(self) -> dict[str, str]:
        """By partition what is wrong, in a sentence; of several findings the first and how many."""
        found: dict[str, list[Finding]] = {}
        for one in self.findings:
            found.setdefault(one.partition, []).append(one)
        return {partition: _sentence(items) for partition, items in found.items()}

    @property
    def right(self) -> tuple[str, ...]:
        """Partitions with nothing wrong, those that are gone among them."""
        broken = self.broken
        return (*(name for name in self.partitions if name not in broken), *self.gone)


def verify_tonight(lake: Store, dataset: str, night: date, *, nights: int, damaged: Collection[str] = ()) -> Verified:
    """Read tonight's share of a dataset, and the partitions `damaged` before, byte by byte.

    Raises:
        StoreUnavailable, AccessRefused: the lake could not be read; nothing is known.
    """
    try:
        found = latest(lake, dataset)
    except AccessRefused:
        raise
    except FinalError as error:
        return Verified(partitions=(RELEASE,), findings=(finding_of(RELEASE, error),))
    if found is None:
        return Verified(partitions=(), gone=tuple(damaged))
    there = found.release.partitions
    names = sorted({*share_of(there, night, nights), *(name for name in damaged if name in there)})
    return Verified(
        partitions=(*names, RELEASE),
        release=there,
        findings=tuple(finding for name in names for finding in _findings(lake, found.release, name)),
        gone=tuple(name for name in damaged if name not in there and name != RELEASE),
    )


def _findings(lake: Store, release: Release, partition: str) -> Iterator[Finding]:
    try:
        manifest = manifest_of(lake, release, partition)
    except AccessRefused:
        raise
    except FinalError as error:
        yield finding_of(partition, error)
        return
    yield from verify_partition(lake, manifest)


def _sentence(items: list[Finding]) -> str:
    first = items[0]
    more = "" if len(items) == 1 else f" And {len(items) - 1} more."
    return f"{first.subject}: found {first.found}; expected {first.expected}.{more}"
