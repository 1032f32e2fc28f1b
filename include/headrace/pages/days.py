"""A dataset's days: the squares of its calendar, what was published, what was not, where each leads; and how much each day holds."""

from __future__ import annotations

from datetime import date

from headrace.pages import figures
from headrace.pages.by_day import Column
from headrace.pages.calendar import WORDS, Day
from headrace.pages.damage import damages
from headrace.pages.links import Links
from headrace.pages.standing import Standing, day_of, sentence


def days_of(dataset: str, standing: Standing, links: Links) -> dict[date, Day]:
    """One square a day. What is wrong outweighs what is published: a held candidate is something to look at, damage in use more so."""
    squares: dict[date, Day] = {}
    found = (*_published(dataset, standing, links), *_troubled(dataset, standing, links), *_damaged(dataset, standing, links))
    for partition, square in found:
        day = day_of(partition)
        if day is not None:
            squares[day] = square
    return squares


def samples_of(dataset: str, standing: Standing, links: Links) -> dict[date, Column]:
    """One column a day: its samples; of a day with several versions the last one's."""
    number = 0 if standing.release is None else standing.release.number
    return {
        day: Column(
            value=manifest.counts.samples,
            words=figures.plural(manifest.counts.samples, "sample"),
            href=links.partition(dataset, number, partition),
        )
        for partition, manifest in sorted(standing.manifests.items())
        if (day := day_of(partition)) is not None
    }


def _published(dataset: str, standing: Standing, links: Links) -> list[tuple[str, Day]]:
    if standing.release is None:
        return []
    flagged = {note.partition: note.text for note in standing.release.notes}
    number = standing.release.number
    return [
        (
            partition,
            Day(
                state="warning" if partition in flagged or sum(manifest.counts.quarantined.values()) > 0 else "ok",
                title="; ".join(filter(None, [sentence(manifest), flagged.get(partition)])),
                href=links.partition(dataset, number, partition),
            ),
        )
        for partition, manifest in sorted(standing.manifests.items())
    ]


def _troubled(dataset: str, standing: Standing, links: Links) -> list[tuple[str, Day]]:
    refused = [
        (partition, Day(state="failed", title=f"{figures.plural(number, 'object')} quarantined", href=links.dataset(dataset)))
        for partition, number in standing.quarantined.items()
    ]
    failed = [
        (partition, Day(state="failed", title=f"run failed: {error[:200]}", href=links.runs(dataset)))
        for partition, error in standing.failed.items()
    ]
    held = [
        (one.partition, Day(state="held", title=one.headline, href=links.report(dataset, one.partition, one.manifest)))
        for one in standing.held
    ]
    return [*refused, *failed, *held]


def _damaged(dataset: str, standing: Standing, links: Links) -> list[tuple[str, Day]]:
    return [
        (
            one.partition,
            Day(
                state="damaged",
                title="; ".join([*_stored(one.partition, standing), f"{WORDS['damaged']}: {one.reason[:200]}"]),
                href=one.href,
            ),
        )
        for one in damages(dataset, standing, links)
    ]


def _stored(partition: str, standing: Standing) -> list[str]:
    """What the release in use holds of a partition, if anything."""
    return [sentence(standing.manifests[partition])] if partition in standing.manifests else []
