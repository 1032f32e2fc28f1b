"""Every engine against the brute-force oracle, on small worlds full of ties, restatements and retractions.

The small worlds put everything that can collide into a few instants and entities. `HEADRACE_AS_OF_CASES` raises the
number of random worlds per engine, e.g. to 20000 before a release. Spark takes two seconds for each and gets a sixth of them here;
`test_as_of_many_worlds` asks it about a thousand worlds in as many seconds as ten of these.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.features.as_of import AsOf, as_of
from headrace.features.stored_frontier import as_of_frontier, frontier_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.as_of_oracle import brute_force
from tests.conformance.engines import ENGINES_HERE

INSTANT = pa.timestamp("us", tz="UTC")
START = datetime(2024, 3, 10, 4, 59, 59, 999_990, tzinfo=UTC)
HOW = AsOf(entity=("user", "shop"), values=("clicks", "name"))
CASES = int(os.environ.get("HEADRACE_AS_OF_CASES", "150"))
SHARE = {"spark": 6}

ticks = st.integers(0, 6)
keys = st.sampled_from([("1", 12), ("11", 2), ("u", 1), ("u", 1), ("u", 1), ("u", 12), (None, 1), ("u", None)])
values = st.tuples(st.one_of(st.none(), st.integers(2**53, 2**53 + 3)), st.one_of(st.none(), st.sampled_from(["", "a"])))
marks = st.sampled_from(["value", "value", "value", "tombstone", "retraction", "one version"])
log_rows = st.lists(st.tuples(keys, ticks, ticks, marks, st.integers(0, 6), values), max_size=14)
label_rows = st.lists(st.tuples(keys, st.integers(-1, 8)), max_size=10)
hows = st.builds(
    replace,
    st.just(HOW),
    ttl=st.one_of(st.none(), st.integers(0, 6).map(lambda n: timedelta(microseconds=n))),
    strict=st.booleans(),
    hindsight=st.booleans(),
    carry_forward=st.sampled_from([(), ("clicks",), ("clicks", "name")]),
)


def world(raw: list[tuple[Any, ...]]) -> pa.Table:
    """Log rows with a seq of their own each, so that no two agree on everything."""
    return pa.table(
        {
            "user": pa.array([key[0] for key, *_ in raw], pa.string()),
            "shop": pa.array([key[1] for key, *_ in raw], pa.int64()),
            "event_time": pa.array([START + timedelta(microseconds=x) for _, x, *_ in raw], INSTANT),
            "available_time": pa.array([START + timedelta(microseconds=a) for _, _, a, *_ in raw], INSTANT),
            "seq": pa.array(range(len(raw)), pa.int64()),
            "tombstone": pa.array([mark == "tombstone" for *_, mark, _, _ in raw], pa.bool_()),
            "retraction": pa.array([mark in ("retraction", "one version") for *_, mark, _, _ in raw], pa.bool_()),
            "retracts": pa.array([seq if mark == "one version" else None for *_, mark, seq, _ in raw], pa.int64()),
            "clicks": pa.array([value[0] for *_, value in raw], pa.int64()),
            "name": pa.array([value[1] for *_, value in raw], pa.string()),
        }
    )


def questions(raw: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table(
        {
            "label_id": pa.array(range(len(raw)), pa.int64()),
            "user": pa.array([key[0] for key, _ in raw], pa.string()),
            "shop": pa.array([key[1] for key, _ in raw], pa.int64()),
            "label_time": pa.array([START + timedelta(microseconds=at) for _, at in raw], INSTANT),
        }
    )


@pytest.mark.parametrize("engine", ENGINES_HERE)
def test_an_engine_answers_as_the_definition_does(engine: str) -> None:
    """Values, provenance and reasons of every label equal the scan over all rows; labels come back untouched."""

    @given(log_rows, label_rows, hows)
    @settings(max_examples=max(CASES // SHARE.get(engine, 1), 1), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def check(raw_log: list[Any], raw_labels: list[Any], how: AsOf) -> None:
        log, labels = world(raw_log), questions(raw_labels)

        found = as_of(labels, log, how, engine=engine)

        assert found.select(labels.schema.names).equals(labels)
        assert found.drop_columns(labels.schema.names).to_pylist() == brute_force(labels, log, how)
        stored = replace(how, carry_forward=())
        steps = frontier_table(log, how.entity).select(["user", "shop", "visible_time"]).to_pylist()
        assert len({tuple(step.values()) for step in steps}) == len(steps)
        assert as_of_frontier(labels, frontier_table(log, how.entity), stored).equals(as_of(labels, log, stored, engine=engine))

    check()


@pytest.mark.parametrize("engine", ENGINES_HERE)
@pytest.mark.parametrize("seed", [1, 2])
def test_an_engine_answers_as_the_definition_does_with_hot_entities(engine: str, seed: int) -> None:
    """2000 rows, half of them of one entity, a tenth restated or withdrawn, labels on and beside every edge."""
    generator = np.random.default_rng(seed)
    raw = []
    for _ in range(2000):
        hot = generator.random() < 0.5
        key = ("u", 1) if hot else (str(generator.integers(12)), int(generator.integers(3)))
        x = int(generator.integers(500))
        a = x + int(generator.integers(-5, 60))
        mark = generator.choice(["value", "tombstone", "retraction"], p=[0.97, 0.02, 0.01])
        raw.append((key, x, a, mark, 0, (int(generator.integers(2**60)), None)))
    log = world(raw)
    labels = questions([(raw[n][0], raw[n][1 + n % 2] + int(generator.integers(-1, 2))) for n in range(0, 2000, 7)])
    how = replace(HOW, ttl=timedelta(microseconds=200))

    found = as_of(labels, log, how, engine=engine)

    assert found.drop_columns(labels.schema.names).to_pylist() == brute_force(labels, log, how)


@pytest.mark.parametrize("engine", ENGINES_HERE)
def test_rows_that_arrive_later_change_nothing(engine: str) -> None:
    """Cut, poison and shuffle: the table of a log cut at the last label equals that of one with extreme later rows."""

    @given(log_rows, label_rows, log_rows, st.randoms(use_true_random=False))
    @settings(
        max_examples=max(CASES // 3 // SHARE.get(engine, 1), 1), deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    def check(raw_log: list[Any], raw_labels: list[Any], later: list[Any], random: Any) -> None:
        labels = questions(raw_labels)
        last = max((at for _, at in raw_labels), default=0)
        kept = [row for row in raw_log if max(row[1], row[2]) <= last]
        poison = [(key, x, last + 1 + a, mark, seq, (2**62, "poison")) for key, x, a, mark, seq, _ in later]
        whole = world(kept + poison)
        shuffled = whole.take(pa.array(random.sample(range(whole.num_rows), whole.num_rows), pa.int64()))

        found = as_of(labels, shuffled, HOW, engine=engine)

        assert found.equals(as_of(labels, world(kept), HOW, engine=engine))

    check()
