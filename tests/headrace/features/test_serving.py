"""What is served now is what a training row of now would hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from headrace.features.errors import SnapshotError
from headrace.features.fingerprint import view_fingerprint
from headrace.features.serving import compute_now
from headrace.features.snapshot import compute_snapshot
from headrace.features.training_rows import PublishedSnapshot, training_rows
from headrace.features.versions import declared_version, scheduled_keys
from headrace.spec.feature_view import FeatureLog

from tests.headrace.features.build import at, labels, log, training_set, view

LOG = FeatureLog(dataset="flights", rows="include.datasets.functions.flights:landings")
VIEW = view(log=LOG)
LANDINGS = log(
    ("AA", "2013-01-03T12:00", "2013-01-03T15:00", 10, False),
    ("AA", "2013-01-04T03:00", "2013-01-04T07:00", 50, True),
    ("UA", "2013-01-04T12:00", "2013-01-04T13:00", 20, True),
)


@pytest.mark.parametrize("now", ["2013-01-04T06:00", "2013-01-05T05:59", "2013-01-05T06:00", "2013-01-06T07:00"])
def test_serving_equals_training(now: str) -> None:
    """At every moment, value by value, for an entity that is there and for one that is not yet."""
    days = [at(f"2013-01-0{n}").date() for n in range(1, 7)]
    every = [
        PublishedSnapshot(version=declared_version(VIEW, key), rows=compute_snapshot(LANDINGS, VIEW, day, key.knowledge).rows)
        for day in days
        for key in scheduled_keys(VIEW, day)
    ]
    trained = training_rows(training_set(VIEW), labels(("AA", now), ("UA", now)), {VIEW.name: every}).to_pylist()

    served = compute_now(LANDINGS, VIEW, at(now))

    by_carrier = {row["carrier"]: row for row in served.snapshot.rows.to_pylist()}
    for row in trained:
        assert {name: row[name] for name in VIEW.features} == {
            name: by_carrier.get(row["carrier"], {}).get(name) for name in VIEW.features
        }
        assert row["carrier_delays__version"] == str(served.version.key)


def test_before_the_first_snapshot_there_is_nothing_to_serve() -> None:
    """Said, not guessed."""
    with pytest.raises(SnapshotError, match="no version that is published by then"):
        compute_now(LANDINGS, VIEW, at("2013-01-01T12:00"))


def test_the_fingerprint_changes_with_the_declaration_and_not_with_the_owner() -> None:
    """Content counts, people do not."""
    assert view_fingerprint(replace(VIEW, owner="somebody")) == view_fingerprint(VIEW)
    assert view_fingerprint(replace(VIEW, windows=(1, 3))) != view_fingerprint(VIEW)
    assert compute_now(LANDINGS, VIEW, at("2013-01-05T06:00")).fingerprint == view_fingerprint(VIEW)
