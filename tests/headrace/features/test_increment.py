"""Increments by arrival and buckets of entities give the bytes of a full recompute."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.buckets import bucket_column
from headrace.features.cutoff import cutoff_instant, settled_at
from headrace.features.errors import SchemaError
from headrace.features.increment import advanced
from headrace.features.snapshot import compute_snapshot
from headrace.spec.aggregates import count, distinct, last, sum_of
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureLog, FeatureView
from hypothesis import given, settings
from hypothesis import strategies as st

INSTANT = pa.timestamp("us", tz="UTC")
FIRST = date(2013, 3, 8)
VIEW = FeatureView(
    name="clicks",
    entity=("user",),
    log=FeatureLog(dataset="events", rows="some.module:rows", event_key=("event",)),
    aggregates=(count("clicks"), sum_of("n", dtype="int64"), last("n", dtype="int64"), distinct("n")),
    windows=(1, 2),
    cutoff=Cutoff(timezone="America/New_York", settlement=timedelta(hours=6)),
    start=FIRST,
    owner="data-platform",
)
BEGIN = cutoff_instant(VIEW.cutoff, FIRST - timedelta(days=1))
DAYS = [FIRST + timedelta(days=n) for n in range(5)]

hours = st.integers(0, 5 * 24)
event = st.tuples(
    st.sampled_from("uvw"), st.integers(0, 6), hours, hours, st.sampled_from(["said", "said", "said", "gone", "taken back"])
)
events = st.lists(st.tuples(event, st.integers(0, 9)), max_size=30)


def log(raw: list[Any]) -> pa.Table:
    """Versions of a few events, restated, moved between days, cancelled and withdrawn."""
    return pa.table(
        {
            "user": pa.array([user for (user, *_), _ in raw], pa.string()),
            "event": pa.array([number for (_, number, *_), _ in raw], pa.int64()),
            "event_time": pa.array([BEGIN + timedelta(hours=x) for (_, _, x, *_), _ in raw], INSTANT),
            "available_time": pa.array([BEGIN + timedelta(hours=a) for (*_, a, _), _ in raw], INSTANT),
            "seq": pa.array(range(len(raw)), pa.int64()),
            "tombstone": pa.array([mark == "gone" for (*_, mark), _ in raw], pa.bool_()),
            "retraction": pa.array([mark == "taken back" for (*_, mark), _ in raw], pa.bool_()),
            "n": pa.array([n for _, n in raw], pa.int64()),
        }
    )


@given(events)
@settings(max_examples=60, deadline=None)
def test_a_day_by_increment_has_the_bytes_of_a_full_recompute(raw: list[Any]) -> None:
    """Over a clock change, with events that move between days, and arrivals read in partitions of local days."""
    whole = log(raw)
    edges = [cutoff_instant(VIEW.cutoff, FIRST + timedelta(days=n)) for n in range(-1, 6)]
    landed = np.searchsorted(
        [edge.timestamp() for edge in edges], [a.timestamp() for a in whole["available_time"].to_pylist()], "right"
    )
    parts = [whole.filter(pa.array(landed == n, pa.bool_())) for n in range(1, len(edges))]
    state = advanced(None, parts[:1], VIEW, FIRST - timedelta(days=1))
    for number, day in enumerate(DAYS):
        state = advanced(state, parts[number + 1 : number + 2], VIEW, day)

        found = compute_snapshot(state, VIEW, day, settled_at(VIEW.cutoff, day))

        assert found.rows.equals(compute_snapshot(whole, VIEW, day, settled_at(VIEW.cutoff, day)).rows)


def test_a_state_is_as_long_as_the_window_and_not_as_the_history() -> None:
    """One event an hour for five days: two days of them are kept."""
    whole = log([(("u", n, n, n, "said"), 1) for n in range(5 * 24)])

    assert advanced(None, [whole], VIEW, DAYS[-1]).num_rows == 49  # 48 hours and the one the clock skipped


@given(events, st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_buckets_computed_apart_are_the_whole(raw: list[Any], buckets: int) -> None:
    """Whatever their number."""
    whole, knowledge = log(raw), settled_at(VIEW.cutoff, DAYS[2])
    bucket = bucket_column(whole, VIEW.entity, buckets)

    apart = [
        compute_snapshot(whole.filter(pa.array(bucket == n, pa.bool_())), VIEW, DAYS[2], knowledge).rows for n in range(buckets)
    ]

    assert pa.concat_tables(apart).sort_by("user").equals(compute_snapshot(whole, VIEW, DAYS[2], knowledge).rows)


def test_the_buckets_of_keys_are_the_same_for_ever() -> None:
    """Golden numbers: another hash would split every stored history. ("1", 12) and ("11", 2) are two entities; nobody is in bucket 0."""
    keys = pa.table({"user": ["1", "11", "ä", None], "shop": [12, 2, -(2**63), 1]})

    assert bucket_column(keys, ("user", "shop"), 1000).tolist() == [52, 170, 675, 0]


@pytest.mark.parametrize("buckets", [0, 1001])
def test_a_strange_number_of_buckets_is_refused(buckets: int) -> None:
    """Naming what is allowed."""
    with pytest.raises(SchemaError, match="1 to 1000"):
        bucket_column(pa.table({"user": ["u"]}), ("user",), buckets)
