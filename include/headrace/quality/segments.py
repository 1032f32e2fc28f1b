"""The same comparison within a part of the data: one airport, one country, one device.

A shift in a small segment drowns in the whole. Segments are the declared levels of a declared column, so that there are few and their
names are known before any data is seen; each is profiled on the reference's bins like the whole, and its tests join the policy's
one family, so that looking in more places does not raise more false alarms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headrace.quality.bins import Bins
from headrace.quality.profile import Profile
from headrace.quality.profiler import profile_table
from headrace.spec.quality import QualityPolicy


@dataclass(frozen=True, kw_only=True)
class SegmentPair:
    """One segment's rows on both sides, counted on the same bins."""

    training: Profile
    live: Profile


def profile_segments(
    rows: pa.Table, policy: QualityPolicy, columns: Iterable[str], *, code_fingerprint: str, bins: Bins | None
) -> dict[str, Profile]:
    """A profile per `column=level` that has rows. A column the rows lack has no segment; the schema check says so."""
    found: dict[str, Profile] = {}
    for name in columns:
        column = policy.plan.column(name)
        if column is None or column.levels is None or rows.schema.names.count(name) != 1:
            continue
        texts = pc.cast(rows[name], pa.string())
        for level in column.levels:
            part = rows.filter(pc.equal(texts, pa.scalar(level)))
            if part.num_rows:
                found[f"{name}={level}"] = profile_table(part, policy.plan, code_fingerprint=code_fingerprint, bins=bins)
    return found


def paired(training: Mapping[str, Profile], live: Mapping[str, Profile], *, minimum_rows: int) -> dict[str, SegmentPair]:
    """The segments with at least that many rows on both sides, in key order."""
    enough = [
        name for name in sorted({*training} & {*live}) if training[name].rows >= minimum_rows and live[name].rows >= minimum_rows
    ]
    return {name: SegmentPair(training=training[name], live=live[name]) for name in enough}
