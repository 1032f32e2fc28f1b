"""Versions of a day's snapshot: their partition keys, and when each counts as published.

A version is (day, kind, knowledge time). *preliminary* knows what had arrived at the cutoff, *settled* what had arrived
when the settlement was over, *rebuild* what had arrived at an explicit later time. Nothing is overwritten: a version
published once keeps its `published_at` for ever, and joins select versions by `published_at` alone.

A day the system lived through is published by the real clock. A day before that was published by nobody; without a
declared time every old label would find nothing, and with today's clock every old label would have to cheat. So such days
get `K + publish_delay`, flagged synthetic: a promise by the declaration, not an observation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Final

from headrace.features.cutoff import cutoff_instant, settled_at
from headrace.features.errors import SnapshotError, TooEarlyError
from headrace.spec.canonical import instant_text
from headrace.spec.feature_view import FeatureView

_KNOWLEDGE: Final = "%Y%m%dT%H%M%SZ"
_KEY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})\.([a-z]+)\.(\d{8}T\d{6}Z)")


class Kind(StrEnum):
    """Why a version's knowledge time is what it is."""

    PRELIMINARY = "preliminary"
    SETTLED = "settled"
    REBUILD = "rebuild"


@dataclass(frozen=True, kw_only=True)
class SnapshotKey:
    """The partition key of one version. Prints and parses as `2013-01-03.settled.20130106T050000Z`.

    Attributes:
        day: the local day whose end the features describe.
        kind: preliminary, settled or rebuild.
        knowledge: `K`: arrivals up to and including it are known; UTC, whole seconds.
    """

    day: date
    kind: Kind
    knowledge: datetime

    def __post_init__(self) -> None:
        if self.knowledge.tzinfo is None or self.knowledge.microsecond != 0:
            raise SnapshotError(
                f"snapshot of {self.day}",
                found=f"knowledge time {self.knowledge}",
                expected="an instant with a zone, in whole seconds: partition keys print seconds",
                remedy="Give the knowledge time a zone and round it up to a second.",
            )
        object.__setattr__(self, "knowledge", self.knowledge.astimezone(UTC))

    def __str__(self) -> str:
        return f"{self.day.isoformat()}.{self.kind}.{self.knowledge.strftime(_KNOWLEDGE)}"

    @classmethod
    def parse(cls, text: str) -> SnapshotKey:
        """The key a text names. Raises SnapshotError for anything that `str` would not have printed."""
        match = _KEY.fullmatch(text)
        day, kind, knowledge = match.groups() if match is not None else ("", "", "")
        try:
            instant = datetime.strptime(knowledge, _KNOWLEDGE).replace(tzinfo=UTC)
            return cls(day=date.fromisoformat(day), kind=Kind(kind), knowledge=instant)
        except ValueError as error:
            raise SnapshotError(
                "snapshot key",
                found=repr(text),
                expected="day.kind.knowledge, such as '2013-01-03.settled.20130106T050000Z'",
                remedy="Name the partition as the snapshot release lists it.",
            ) from error


@dataclass(frozen=True, kw_only=True)
class SnapshotVersion:
    """A version and when it became readable.

    Attributes:
        key: which version.
        published_at: from this instant on (inclusive) a reader could see it; never before the knowledge time.
        synthetic: whether `published_at` was declared instead of observed.
    """

    key: SnapshotKey
    published_at: datetime
    synthetic: bool

    def __post_init__(self) -> None:
        if self.published_at.tzinfo is None or self.published_at < self.key.knowledge:
            raise SnapshotError(
                f"snapshot {self.key}",
                found=f"published_at {self.published_at}",
                expected=f"an instant with a zone, at or after the knowledge time {instant_text(self.key.knowledge)}",
                remedy="Publish no earlier than what the snapshot claims to know.",
            )
        object.__setattr__(self, "published_at", self.published_at.astimezone(UTC))

    @property
    def rank(self) -> tuple[date, datetime, datetime, str]:
        """What makes one version newer than another: its day, then what it knows, then when it appeared."""
        return (self.key.day, self.key.knowledge, self.published_at, self.key.kind)


def preliminary_key(view: FeatureView, day: date) -> SnapshotKey:
    """The version that knows what had arrived when the day ended."""
    return SnapshotKey(day=day, kind=Kind.PRELIMINARY, knowledge=cutoff_instant(view.cutoff, day))


def settled_key(view: FeatureView, day: date) -> SnapshotKey:
    """The version that knows what had arrived when the settlement was over."""
    return SnapshotKey(day=day, kind=Kind.SETTLED, knowledge=settled_at(view.cutoff, day))


def rebuild_key(view: FeatureView, day: date, knowledge: datetime) -> SnapshotKey:
    """A later look at a day. Raises SnapshotError when `knowledge` is not after the settled version's."""
    settled = settled_at(view.cutoff, day)
    if knowledge <= settled:
        raise SnapshotError(
            f"rebuild of {view.name} {day}",
            found=f"knowledge time {instant_text(knowledge)}",
            expected=f"an instant after the settled version's {instant_text(settled)}",
            remedy="Use the settled version, or a later knowledge time.",
        )
    return SnapshotKey(day=day, kind=Kind.REBUILD, knowledge=knowledge)


def scheduled_keys(view: FeatureView, day: date) -> tuple[SnapshotKey, ...]:
    """The versions a day gets by itself, in order of knowledge; none outside the view's declared days."""
    if day < view.start or (view.end is not None and day > view.end):
        return ()
    settled = (settled_key(view, day),)
    return (preliminary_key(view, day), *settled) if view.preliminary else settled


def is_declared(view: FeatureView, day: date) -> bool:
    """Whether the day's versions are published by declaration instead of by the clock."""
    return view.live_since is None or day < view.live_since


def declared_version(view: FeatureView, key: SnapshotKey) -> SnapshotVersion:
    """The version with its declared publication, `K + publish_delay`, flagged synthetic."""
    return SnapshotVersion(key=key, published_at=key.knowledge + view.publish_delay, synthetic=True)


def version_to_publish(
    view: FeatureView, key: SnapshotKey, *, clock: datetime, existing: SnapshotVersion | None = None
) -> SnapshotVersion:
    """The version as it is to be published now.

    Args:
        view: the view.
        key: which version.
        clock: the real time, read once by the caller.
        existing: the version as published before, if it was; returned unchanged, so a re-run changes nothing.

    Raises:
        TooEarlyError: the clock stands before the knowledge time.
    """
    if existing is not None:
        if existing.key != key:
            raise SnapshotError(
                f"snapshot {key}", found=f"existing version {existing.key}", expected="the same key", remedy="Look up this key."
            )
        return existing
    if clock < key.knowledge:
        raise TooEarlyError(
            f"snapshot {view.name} {key}",
            found=f"clock {instant_text(clock)}",
            expected=f"at or after {instant_text(key.knowledge)}",
            remedy="Wait until then: rows may still arrive that this version claims to know.",
        )
    if is_declared(view, key.day):
        return declared_version(view, key)
    return SnapshotVersion(key=key, published_at=clock, synthetic=False)
