"""Features for a prediction made now: the numbers a training row of this moment would hold, by the same code.

A model trained on snapshots must be served from snapshots. `compute_now` picks the version that a label of this moment would see and
computes it with `compute_snapshot`; nothing is computed fresher, because nothing fresher was in the training data. The fingerprint says
whether both sides ran the same code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from headrace.features.cutoff import day_of
from headrace.features.errors import SnapshotError
from headrace.features.fingerprint import view_fingerprint
from headrace.features.snapshot import Snapshot, compute_snapshot
from headrace.features.versions import SnapshotVersion, declared_version, is_declared, scheduled_keys
from headrace.spec.canonical import instant_text
from headrace.spec.feature_view import FeatureView

_LOOK_BACK = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Served:
    """Features for now, which version they are, and the fingerprint of the code that computed them."""

    snapshot: Snapshot
    version: SnapshotVersion
    fingerprint: str


def version_now(view: FeatureView, now: datetime, published: Iterable[SnapshotVersion] = ()) -> SnapshotVersion:
    """The version that a label at `now` sees: of the published ones and of those published by declaration.

    Raises:
        SnapshotError: there is none within the last 30 days.
    """
    today = day_of(view.cutoff, now)
    known = [version for version in published if version.published_at <= now]
    first = max(view.start, today - _LOOK_BACK)
    days = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    known += [declared_version(view, key) for day in days if is_declared(view, day) for key in scheduled_keys(view, day)]
    readable = [version for version in known if version.published_at <= now]
    if not readable:
        raise SnapshotError(
            f"{view.name} at {instant_text(now)}",
            found="no version that is published by then",
            expected=f"one of the last {_LOOK_BACK.days} days",
            remedy="Wait for the first snapshot, or name the published versions.",
        )
    return max(readable, key=lambda version: version.rank)


def compute_now(log: pa.Table, view: FeatureView, now: datetime, published: Iterable[SnapshotVersion] = ()) -> Served:
    """The view's features of every entity as a label at `now` would get them.

    Args:
        log: what the view's rows function returned, over the days that `needs.log_days` names for the version's day.
        published: the versions known to be published; days that are published by declaration need none.
    """
    version = version_now(view, now, published)
    snapshot = compute_snapshot(log, view, version.key.day, version.key.knowledge)
    return Served(snapshot=snapshot, version=version, fingerprint=view_fingerprint(view))
