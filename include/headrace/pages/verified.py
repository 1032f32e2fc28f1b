"""When what a release holds was last read again byte by byte: in one sentence, and partition by partition."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.pages import figures
from headrace.pages.html import Html, join, tag, text
from headrace.runs.verified import Look


def looks_at(partitions: Mapping[str, str], looks: Mapping[str, Look]) -> dict[str, Look]:
    """The looks that were at these very manifests. `partitions`: manifest by partition."""
    return {name: looks[name] for name, manifest in partitions.items() if name in looks and looks[name].manifest == manifest}


def verified_line(partitions: Mapping[str, str], looks: Mapping[str, Look]) -> Html:
    """How much of a release was verified, how long ago at the most, and what was wrong."""
    seen = looks_at(partitions, looks)
    if not seen:
        return text("never yet")
    broken = [name for name, look in seen.items() if look.wrong is not None]
    if broken:
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        return tag("span", f"damaged: {', '.join(broken[:3])}{more}", class_="badge t-failed")
    oldest = figures.moment(min(look.at for look in seen.values()))
    if len(seen) < len(partitions):
        return join(f"{len(seen):,} of {figures.plural(len(partitions), 'partition')}, the oldest look ", oldest)
    return join(tag("span", "every byte", class_="badge t-ok"), tag("small", " the oldest look ", oldest))


def verified_cell(look: Look | None) -> Html:
    """One partition: when, or `never`; what was wrong stands in the words on hover and on the dataset's page."""
    if look is None:
        return tag("small", "never")
    if look.wrong is None:
        return figures.moment(look.at)
    return tag("span", "damaged", class_="badge t-failed", title=look.wrong)
