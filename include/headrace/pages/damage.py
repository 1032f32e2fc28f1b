"""Stored bytes that are damaged, one line and one address each: open incidents, and what a person's `headrace verify` found since.

What a person found is no incident yet: the next night reads it again, makes one of it and tells people.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.pages.html import Html, tag
from headrace.pages.links import Links
from headrace.pages.page import link
from headrace.pages.standing import Standing


@dataclass(frozen=True, kw_only=True)
class Damage:
    """What is damaged (a partition, or `release`), what is wrong with it, who has it, and where it is shown."""

    partition: str
    reason: str
    whom: str
    href: str


def damages(dataset: str, found: Standing, links: Links) -> list[Damage]:
    """Incidents in their order, then what is none yet."""
    return [*_incidents(dataset, found, links), *by_hand(dataset, found, links)]


def by_hand(dataset: str, found: Standing, links: Links) -> list[Damage]:
    """What is no incident yet, in order of partitions."""
    known, number = {one.feature for one in found.damaged}, 0 if found.release is None else found.release.number
    return [
        Damage(
            partition=name,
            reason=look.wrong,
            whom="found by hand; tonight it is read again and becomes an incident",
            href=links.partition(dataset, number, name),
        )
        for name, look in sorted(found.looks.items())
        if look.wrong is not None and name not in known
    ]


def damage_list(items: list[Damage]) -> Html:
    """One line each; nothing where nothing is damaged."""
    return tag("ul", *(_line(one) for one in items), class_="plain") if items else Html("")


def _incidents(dataset: str, found: Standing, links: Links) -> list[Damage]:
    return [
        Damage(
            partition=one.feature,
            reason=one.reason,
            whom="with nobody yet" if one.acknowledged_by is None else f"with {one.acknowledged_by}",
            href=f"{links.dataset(dataset)}#lake-{one.number}",
        )
        for one in found.damaged
    ]


def _line(one: Damage) -> Html:
    badge = tag("span", "Damaged", class_="badge t-failed")
    return tag("li", badge, " ", link(one.partition, one.href), f": {one.reason[:300]} ", tag("small", one.whom))
