"""The worked example the product was asked for with, number by number.

A label at day 10, midnight. A daily job computes the features of each day when it ends; events may arrive up to 48 hours
late, and 12.5 % of a day's events arrive 24 to 48 hours late. The row must use day 9 as it was computable at that
midnight, not the more complete day 9 that day 11 would give.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from headrace.features.snapshot import Snapshot, compute_snapshot
from headrace.features.training_rows import PublishedSnapshot, training_rows
from headrace.features.versions import Kind, SnapshotKey, declared_version, scheduled_keys
from headrace.spec.aggregates import count
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureLog, FeatureView
from headrace.spec.label_set import LabelSet
from headrace.spec.training_set import TimeHoldout, TrainingSet

INSTANT = pa.timestamp("us", tz="UTC")
USERS = [f"user-{n}" for n in range(16)]
LOGINS_A_DAY = 8
MIDNIGHT_OF_DAY_10 = datetime(2024, 1, 10, tzinfo=UTC)
VIEW = FeatureView(
    name="logins",
    entity=("user",),
    log=FeatureLog(dataset="mobile_events", rows="some.module:logins", event_key=("login",)),
    aggregates=(count("logins"),),
    windows=(1,),
    cutoff=Cutoff(timezone="UTC", settlement=timedelta(hours=48)),
    publish_delay=timedelta(0),
    start=date(2024, 1, 1),
    owner="data-platform",
)
CHURN = TrainingSet(
    name="churn",
    labels=LabelSet(name="churned", dataset="mobile_events", rows="some.module:churned", entity=("user",)),
    views=(VIEW,),
    holdout=TimeHoldout(start=date(2024, 1, 11)),
    owner="data-platform",
)


def mobile_events() -> pa.Table:
    """Eight logins a day and user; the last of each day lands 24 to 48 hours after it happened, the others in a minute."""
    rows = []
    for day in range(1, 11):
        for number, user in enumerate(USERS):
            for n in range(LOGINS_A_DAY):
                happened = datetime(2024, 1, day, tzinfo=UTC) + timedelta(hours=2 * n + 3, minutes=number)
                late = timedelta(hours=25 + number) if n == LOGINS_A_DAY - 1 else timedelta(minutes=1)
                rows.append((user, f"{user}-{day}-{n}", happened, happened + late))
    users, logins, happened_at, landed_at = zip(*rows, strict=True)
    return pa.table(
        {
            "user": list(users),
            "login": list(logins),
            "event_time": pa.array(happened_at, INSTANT),
            "available_time": pa.array(landed_at, INSTANT),
        }
    )


def labels() -> pa.Table:
    """One churn label per user at day 10, midnight; the outcome is known twelve hours later."""
    return pa.table(
        {
            "label_id": list(range(len(USERS))),
            "user": USERS,
            "label_time": pa.array([MIDNIGHT_OF_DAY_10] * len(USERS), INSTANT),
            "label_known_time": pa.array([MIDNIGHT_OF_DAY_10 + timedelta(hours=12)] * len(USERS), INSTANT),
            "label": [n % 2 == 0 for n in range(len(USERS))],
        }
    )


def computed(key: SnapshotKey) -> Snapshot:
    return compute_snapshot(mobile_events(), VIEW, key.day, key.knowledge)


def all_published() -> list[PublishedSnapshot]:
    """Every version of days 1 to 10, as a backfill long afterwards leaves them."""
    keys = [key for n in range(1, 11) for key in scheduled_keys(VIEW, date(2024, 1, n))]
    return [PublishedSnapshot(version=declared_version(VIEW, key), rows=computed(key).rows) for key in keys]


def day_nine(kind: Kind) -> SnapshotKey:
    return next(key for key in scheduled_keys(VIEW, date(2024, 1, 9)) if key.kind is kind)


def test_the_row_uses_day_nine_as_it_was_computable_at_midnight_of_day_ten() -> None:
    """Every label gets the preliminary version of day 9, published that very instant, although all later ones exist."""
    found = training_rows(CHURN, labels(), {"logins": all_published()})

    assert set(found.column("logins__version").to_pylist()) == {"2024-01-09.preliminary.20240110T000000Z"}
    assert found.column("logins_1d").to_pylist() == [7] * len(USERS)
    assert set(found.column("logins__published_at").to_pylist()) == {MIDNIGHT_OF_DAY_10}


def test_the_day_eleven_version_of_day_nine_is_more_complete_and_not_used() -> None:
    """It counts all eight logins; a join on the entity and the current table would have used it on every row."""
    settled = computed(day_nine(Kind.SETTLED)).rows
    current = dict(zip(settled.column("user").to_pylist(), settled.column("logins_1d").to_pylist(), strict=True))

    found = training_rows(CHURN, labels(), {"logins": all_published()})
    right = dict(zip(found.column("user").to_pylist(), found.column("logins_1d").to_pylist(), strict=True))

    assert current == dict.fromkeys(USERS, 8)
    assert [user for user in USERS if right[user] != current[user]] == USERS


def test_one_event_in_eight_is_missing_at_midnight_of_day_ten() -> None:
    """The completeness report shows 12.5 %, and how late they came."""
    report = computed(day_nine(Kind.PRELIMINARY)).completeness

    assert (report.known, report.arrived, report.too_late) == (128, 112, 16)
    assert report.share == 1 - 0.125
    assert (report.lateness.p50, report.lateness.worst) == (timedelta(minutes=1), timedelta(hours=40))
    assert computed(day_nine(Kind.SETTLED)).completeness.share == 1.0


def test_a_label_during_day_ten_still_joins_day_nine() -> None:
    """Not the day in progress, even though that will hold a fresher value."""
    noon = pa.array([MIDNIGHT_OF_DAY_10 + timedelta(hours=12)] * len(USERS), INSTANT)

    found = training_rows(CHURN, labels().set_column(2, "label_time", noon), {"logins": all_published()})

    assert set(found.column("logins__day").to_pylist()) == {date(2024, 1, 9)}
