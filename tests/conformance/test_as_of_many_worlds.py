"""Thousands of random worlds per engine, joined a few hundred at a time.

Each world has an entity column of its own value, so one join answers many worlds at once and an engine's start-up is paid
once; the oracle still scans each world by itself. `HEADRACE_AS_OF_WORLDS` raises the number, e.g. to 20000.
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

from tests.conformance.as_of_oracle import brute_force
from tests.conformance.engines import ENGINES_HERE

INSTANT = pa.timestamp("us", tz="UTC")
START = datetime(2024, 11, 3, 4, 59, 59, 999_995, tzinfo=UTC)
HOW = AsOf(entity=("world", "user"), values=("clicks", "name"))
WORLDS = int(os.environ.get("HEADRACE_AS_OF_WORLDS", "1000"))
BATCH = 250
VARIANTS = (
    HOW,
    replace(HOW, ttl=timedelta(microseconds=3), hindsight=True),
    replace(HOW, strict=True, ttl=timedelta(0)),
    replace(HOW, carry_forward=("clicks", "name"), ttl=timedelta(microseconds=5)),
)


def random_log(generator: np.random.Generator, worlds: int) -> pa.Table:
    """About eight rows a world, over two users and nobody, within eight microseconds."""
    size = 8 * worlds
    event = generator.integers(0, 8, size)
    marks = generator.choice(["value", "tombstone", "retraction", "one version"], size, p=[0.7, 0.1, 0.12, 0.08])
    return pa.table(
        {
            "world": generator.integers(0, worlds, size),
            "user": pa.array(generator.choice(["u", "v", ""], size), mask=generator.random(size) < 0.05),
            "event_time": moments(event),
            "available_time": moments(np.maximum(event + generator.integers(-2, 5, size), 0)),
            "seq": np.arange(size),
            "tombstone": marks == "tombstone",
            "retraction": (marks == "retraction") | (marks == "one version"),
            "retracts": pa.array(np.arange(size) - generator.integers(1, 6, size), mask=marks != "one version"),
            "clicks": pa.array(generator.integers(2**53, 2**53 + 9, size), mask=generator.random(size) < 0.2),
            "name": pa.array(generator.choice(["a", ""], size), mask=generator.random(size) < 0.2),
        }
    ).sort_by("world")


def random_labels(generator: np.random.Generator, worlds: int) -> pa.Table:
    """About four labels a world, from before its first row to after its last."""
    size = 4 * worlds
    return pa.table(
        {
            "label_id": np.arange(size),
            "world": generator.integers(0, worlds, size),
            "user": pa.array(generator.choice(["u", "v", ""], size), mask=generator.random(size) < 0.05),
            "label_time": moments(generator.integers(-1, 13, size)),
        }
    )


def moments(micros: np.ndarray) -> pa.Array:
    return pa.array([START + timedelta(microseconds=int(n)) for n in micros], INSTANT)


def by_world(labels: pa.Table, log: pa.Table, how: AsOf) -> list[dict[str, Any]]:
    """The oracle, one world after the other, in the order of the labels."""
    answers: dict[int, dict[str, Any]] = {}
    worlds = np.asarray(log.column("world"))
    for number in sorted(set(labels.column("world").to_pylist())):
        mine = labels.filter(pa.array(np.asarray(labels.column("world")) == number))
        rows = log.slice(int(np.searchsorted(worlds, number)), int(np.sum(worlds == number)))
        answers |= dict(zip(mine.column("label_id").to_pylist(), brute_force(mine, rows, how), strict=True))
    return [answers[label] for label in labels.column("label_id").to_pylist()]


@pytest.mark.parametrize("engine", ENGINES_HERE)
def test_an_engine_answers_as_the_definition_does_in_every_world(engine: str) -> None:
    """Values, provenance and reasons, row by row, over every variant of the join."""
    for seed in range(WORLDS // BATCH):
        generator = np.random.default_rng(seed)
        log, labels = random_log(generator, BATCH), random_labels(generator, BATCH)
        how = VARIANTS[seed % len(VARIANTS)]

        found = as_of(labels, log, how, engine=engine)

        assert found.drop_columns(labels.schema.names).to_pylist() == by_world(labels, log, how), f"seed {seed}"
