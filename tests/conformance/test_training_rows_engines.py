"""A training set is the same table on every engine: views and logs together, on worlds full of ties and late rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.leakage import Material, audit_leakage
from headrace.features.training_rows import PublishedSnapshot, training_rows
from headrace.features.versions import Kind, SnapshotKey, SnapshotVersion
from headrace.spec.columns import columns
from headrace.spec.feature_view import FeatureLog
from headrace.spec.log_join import LogJoin

from tests.conformance.engines import ENGINES_HERE
from tests.headrace.features.build import INSTANT, labels, training_set, view

VIEW = view()
LAST = LogJoin(
    name="last_landing",
    entity=("carrier",),
    log=FeatureLog(dataset="flights", rows="some.module:rows"),
    values=columns(arr_delay="int64"),
    timezone="America/New_York",
    ttl=timedelta(hours=20),
    start=date(2013, 1, 1),
)
START = datetime(2013, 1, 2, 5, tzinfo=UTC)


def world(seed: int) -> tuple[pa.Table, list[PublishedSnapshot], pa.Table]:
    """Labels, versions of five days (some published late and out of order), and a log with restatements and retractions."""
    dice = np.random.default_rng(seed)
    asked = [
        (str(dice.choice(["AA", "UA", "B6"])), f"{START + timedelta(hours=int(h)):%Y-%m-%dT%H:%M}")
        for h in dice.integers(0, 120, 60)
    ]
    versions = []
    for day in range(1, 6):
        for kind, wait in ((Kind.PRELIMINARY, 24), (Kind.SETTLED, 72)):
            knows = START + timedelta(days=day - 2, hours=wait)
            published = knows + timedelta(hours=int(dice.integers(0, 60)))
            key = SnapshotKey(day=date(2013, 1, day), kind=kind, knowledge=knows)
            versions.append(
                PublishedSnapshot(version=SnapshotVersion(key=key, published_at=published, synthetic=False), rows=rows(dice))
            )
    event = dice.integers(-24, 120, 200)
    log = pa.table(
        {
            "carrier": dice.choice(["AA", "UA"], 200),
            "event_time": pa.array([START + timedelta(hours=int(h)) for h in event], INSTANT),
            "available_time": pa.array([START + timedelta(hours=int(h)) for h in event + dice.integers(0, 30, 200)], INSTANT),
            "seq": np.arange(200),
            "retraction": dice.random(200) < 0.1,
            "tombstone": dice.random(200) < 0.05,
            "arr_delay": pa.array(dice.integers(0, 99, 200), mask=dice.random(200) < 0.1),
        }
    )
    return labels(*asked), versions, log


def rows(dice: np.random.Generator) -> pa.Table:
    """One snapshot with numbers that tell it from the others."""
    found: dict[str, Any] = {"carrier": ["AA", "UA"]}
    for name in VIEW.features:
        found[name] = dice.integers(0, 99, 2) if name.startswith("flights") else dice.random(2)
    return pa.table(found)


@pytest.mark.parametrize("engine", ENGINES_HERE)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_engine_builds_the_same_table_and_passes_the_audit(engine: str, seed: int) -> None:
    """Column by column as the reference engine has it; and the audit, which scans, agrees with both."""
    asked, versions, log = world(seed)
    wanted = training_set(VIEW, logs=(LAST,), engine=engine)
    given = ({VIEW.name: versions}, {LAST.name: log})

    found = training_rows(wanted, asked, *given)

    assert found.equals(training_rows(training_set(VIEW, logs=(LAST,)), asked, *given))
    audit = audit_leakage(
        wanted, found, Material(labels=asked, snapshots=given[0], logs=given[1], published={}), seed="s", sample=60
    )
    assert audit.failed == ()
