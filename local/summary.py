"""What a house has made: one row a day and one line a release, read back from the lake itself.

Figures come from the manifests that the LATEST releases name, not from the runs' own logs: what is shown is what a reader of the lake
gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from headrace.lake import layout
from headrace.lake.errors import ObjectMissing
from headrace.lake.store import Store
from headrace.manifests.document import from_bytes
from headrace.manifests.manifest import Manifest
from headrace.manifests.read import latest, manifest_of
from headrace.manifests.release import Release
from headrace.spec.load import Declarations
from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class DayRow:
    """What one day holds, over everything declared.

    Attributes:
        objects: source objects listed.
        quarantined: source objects refused, with reasons in the lake.
        shards, samples: of the datasets.
        snapshot_rows: of all versions of the day's snapshots.
        training_rows: of the training sets.
        checks: how many checks ended in which state, such as `{"ok": 6, "warning": 1}`.
    """

    day: str
    objects: int = 0
    quarantined: int = 0
    shards: int = 0
    samples: int = 0
    snapshot_rows: int = 0
    training_rows: int = 0
    checks: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Days in order; the LATEST releases by dataset, view and training set."""

    days: list[DayRow]
    releases: list[Release]


def summarise(lake: Store, declarations: Declarations, days: Sequence[str]) -> Summary:
    """Read the summary of some days, `YYYY-MM-DD`. A day without anything published has a row of zeros."""
    sets, views, training = (
        _releases(lake, [one.name for one in declared])
        for declared in (declarations.datasets, declarations.views, declarations.training_sets)
    )
    rows = [
        _day_row(day, _manifests(lake, sets, day), _manifests(lake, views, day), _manifests(lake, training, day), lake)
        for day in days
    ]
    return Summary(days=rows, releases=[*sets, *views, *training])


def summary_table(summary: Summary) -> Table:
    """The days, with their sum in the last row."""
    numbers = ("objects", "quarantined", "shards", "samples", "snapshot_rows", "training_rows")
    table = Table("Day", *(name.replace("_", " ") for name in numbers), "checks", show_footer=False)
    for column in table.columns[1:-1]:
        column.justify = "right"
    for row in summary.days:
        table.add_row(row.day, *(f"{getattr(row, name):,}" for name in numbers), _told(row.checks))
    table.add_section()
    checks = sum((Counter(row.checks) for row in summary.days), Counter[str]())
    table.add_row("All", *(f"{sum(getattr(row, name) for row in summary.days):,}" for name in numbers), _told(checks))
    return table


def release_lines(summary: Summary) -> list[str]:
    """Number, digest and partitions of each LATEST release."""
    width = max((len(release.dataset) for release in summary.releases), default=0)
    return [
        f"{release.dataset:<{width}}  release {release.number}, {len(release.partitions)} partitions, digest {release.digest}"
        for release in summary.releases
    ]


def _day_row(day: str, sets: list[Manifest], views: list[Manifest], training: list[Manifest], lake: Store) -> DayRow:
    checks = sum((_checks(lake, manifest) for manifest in training), Counter[str]())
    return DayRow(
        day=day,
        objects=sum(manifest.counts.listed for manifest in sets),
        quarantined=sum(sum(manifest.counts.quarantined.values()) for manifest in sets),
        shards=sum(len(manifest.shards) for manifest in sets),
        samples=sum(manifest.counts.samples for manifest in sets),
        snapshot_rows=sum(manifest.counts.samples for manifest in views),
        training_rows=sum(manifest.counts.samples for manifest in training),
        checks=dict(sorted(checks.items())),
    )


def _releases(lake: Store, names: Iterable[str]) -> list[Release]:
    found = (latest(lake, name) for name in names)
    return [one.release for one in found if one is not None]


def _manifests(lake: Store, releases: list[Release], day: str) -> list[Manifest]:
    """The day's partition of each release, and every version of it where a partition is a version."""
    return [
        manifest_of(lake, release, partition)
        for release in releases
        for partition in release.partitions
        if partition == day or partition.startswith(f"{day}.")
    ]


def _checks(lake: Store, manifest: Manifest) -> Counter[str]:
    key = layout.verdict(manifest.dataset, manifest.partition, manifest.digest)
    try:
        verdict = from_bytes(f"{lake.uri}/{key}", lake.get(key).data).content
    except ObjectMissing:
        return Counter({"without verdict": 1})
    return Counter(str(check["state"]) for check in verdict["checks"])


def _told(checks: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(checks.items()))
