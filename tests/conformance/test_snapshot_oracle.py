"""Snapshots against plain Python: every event, version and window by the definition, with exact rational arithmetic."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from headrace.features.cutoff import cutoff_instant
from headrace.features.snapshot import compute_snapshot
from headrace.spec.aggregates import count, distinct, first, last, max_of, mean, min_of, share, stddev, sum_of
from headrace.spec.cutoff import Cutoff
from headrace.spec.feature_view import FeatureLog, FeatureView
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

INSTANT = pa.timestamp("us", tz="UTC")
DAY = date(2024, 11, 3)  # Havana's has 25 hours and two midnights
VIEW = FeatureView(
    name="orders",
    entity=("shop", "user"),
    log=FeatureLog(dataset="orders", rows="some.module:rows", event_key=("order",)),
    aggregates=(
        count("orders"), sum_of("cents", dtype="int64"), mean("cents"), stddev("cents"), share("paid"),
        min_of("note", dtype="string"), max_of("note", dtype="string"), first("cents", dtype="int64"),
        last("cents", dtype="int64"), distinct("note"), sum_of("weight", dtype="float64"), mean("weight"),
        sum_of("price", dtype="decimal(38, 2)"), mean("price"), stddev("weight"),
    ),
    windows=(1, 3),
    cutoff=Cutoff(timezone="America/Havana"),
    start=date(2024, 1, 1),
    owner="data-platform",
)  # fmt: skip
C = cutoff_instant(VIEW.cutoff, DAY)

versions = st.fixed_dictionaries(
    {
        "shop": st.sampled_from(["a", "b", None]),
        "user": st.sampled_from([1, 2]),
        "order": st.integers(0, 3),
        "hours": st.sampled_from([-80, -74, -73, -72, -50, -49, -48, -30, -26, -25, -24, -2, -1, 0, 1]),
        "micros": st.sampled_from([-1, 0, 1]),
        "late": st.integers(-2, 60),
        "mark": st.sampled_from(["value"] * 6 + ["tombstone", "retraction", "one version"]),
        "retracts": st.integers(0, 8),
        "cents": st.one_of(st.none(), st.integers(-(2**58), 2**58)),
        "paid": st.one_of(st.none(), st.booleans()),
        "note": st.one_of(st.none(), st.sampled_from(["", "x", "y"])),
        "weight": st.one_of(st.none(), st.floats(-1e15, 1e15, allow_subnormal=False)),
        "price": st.one_of(st.none(), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))),
    }
)


def rows_of(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Log rows as Python values; seq numbers them."""
    return [
        item
        | {
            "event_time": C + timedelta(hours=item["hours"], microseconds=item["micros"]),
            "available_time": C + timedelta(hours=item["hours"] + item["late"]),
            "seq": n,
            "tombstone": item["mark"] == "tombstone",
            "retraction": item["mark"] in ("retraction", "one version"),
            "retracts": item["retracts"] if item["mark"] == "one version" else None,
        }
        for n, item in enumerate(raw)
    ]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    types = {
        "shop": pa.string(), "user": pa.int64(), "order": pa.int64(), "event_time": INSTANT, "available_time": INSTANT,
        "seq": pa.int64(), "tombstone": pa.bool_(), "retraction": pa.bool_(), "retracts": pa.int64(), "cents": pa.int64(),
        "paid": pa.bool_(), "note": pa.string(), "weight": pa.float64(), "price": pa.decimal128(12, 2),
    }  # fmt: skip
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


def events_known(rows: list[dict[str, Any]], knowledge: datetime) -> list[dict[str, Any]]:
    known = [row for row in rows if row["available_time"] <= knowledge and row["shop"] is not None]

    def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return all(one[name] == other[name] for name in ("shop", "user", "order"))

    def after(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return (one["available_time"], one["seq"]) > (other["available_time"], other["seq"])

    live = [
        row
        for row in known
        if not row["retraction"]
        and not any(
            r["retraction"] and same(r, row) and after(r, row) and r["retracts"] in (None, row["seq"]) for r in known
        )
    ]  # fmt: skip
    newest = [row for row in live if not any(same(other, row) and after(other, row) for other in live)]
    return [row for row in newest if not row["tombstone"]]


def expected(rows: list[dict[str, Any]], knowledge: datetime) -> list[dict[str, Any]]:
    begins = {days: cutoff_instant(VIEW.cutoff, DAY - timedelta(days=days)) for days in VIEW.windows}
    inside = [row for row in events_known(rows, knowledge) if begins[3] <= row["event_time"] < C]
    found = []
    for shop, user in sorted({(row["shop"], row["user"]) for row in inside}):
        mine = [row for row in inside if (row["shop"], row["user"]) == (shop, user)]
        features: dict[str, Any] = {}
        for spec in VIEW.aggregates:
            for days in VIEW.windows:
                window = [row for row in mine if row["event_time"] >= begins[days]]
                window.sort(key=lambda row: (row["event_time"], row["available_time"], row["seq"]))
                features[spec.output(days)] = value_of(spec.function, [row.get(spec.column) for row in window])
        found.append({"shop": shop, "user": user} | features)
    return found


def value_of(function: str, values: list[Any]) -> Any:
    present = [value for value in values if value is not None]
    exact = [Fraction(value) for value in present if not isinstance(value, str)]
    if function == "count":
        return len(values)
    if function in ("first", "last"):
        return (values[0] if function == "first" else values[-1]) if values else None
    if function == "distinct":
        return len(set(present))
    if not present:
        return None
    if function in ("min", "max"):
        return min(present) if function == "min" else max(present)
    if function == "sum":
        return sum(present) if not isinstance(present[0], float) else float(sum(exact))
    if function == "stddev":
        average = sum(exact) / len(exact)
        variance = sum((value - average) ** 2 for value in exact) / (len(exact) - 1) if len(exact) > 1 else None
        # Weights go down to 1e-308, their squares far below any float: the root is taken 2**500 times as large.
        tiny = variance is not None and 0 < variance < Fraction(1, 10**280)
        return None if variance is None else math.ldexp(math.sqrt(variance * 4**500), -500) if tiny else math.sqrt(variance)
    if isinstance(present[0], float):
        return float(sum(exact)) / len(exact)  # the sum is rounded once, then divided
    return float(sum(exact) / len(exact))


@given(st.lists(versions, max_size=14), st.sampled_from([0, 1, 24, 48]))
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_snapshot_is_what_its_definition_says(raw: list[dict[str, Any]], settlement_hours: int) -> None:
    """Every feature of every entity, to the last bit."""
    rows = rows_of(raw)
    knowledge = C + timedelta(hours=settlement_hours)

    found = compute_snapshot(table_of(rows), VIEW, DAY, knowledge)

    assert found.rows.to_pylist() == expected(rows, knowledge)


@given(st.lists(versions, max_size=10), st.lists(versions, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_later_arrivals_and_row_order_change_nothing(raw: list[Any], later: list[Any], random: Any) -> None:
    """The content of a snapshot is a function of the rows that had arrived by K."""
    rows = [row for row in rows_of(raw) if row["available_time"] <= C]
    poison = [row | {"available_time": C + timedelta(microseconds=1 + n)} for n, row in enumerate(rows_of(later))]
    whole = random.sample(rows + poison, len(rows) + len(poison))

    found = compute_snapshot(table_of(whole), VIEW, DAY, C)

    alone = compute_snapshot(table_of(rows), VIEW, DAY, C)
    assert found.rows.equals(alone.rows)
    assert found.counts == alone.counts


@pytest.mark.parametrize("hours", [0, 48])
def test_counts_account_for_every_row_that_had_arrived(hours: int) -> None:
    """Arrived = used + ahead + before + superseded + retracted + tombstoned versions + retractions + rows without entity."""
    base = {
        "shop": "a",
        "user": 1,
        "cents": 1,
        "paid": True,
        "note": "",
        "weight": 1.0,
        "price": Decimal(1),
        "micros": 0,
        "retracts": 0,
    }
    raw = [
        base | {"order": 1, "hours": -2, "late": 1, "mark": "value"},
        base | {"order": 1, "hours": -2, "late": 2, "mark": "value"},
        base | {"order": 2, "hours": -2, "late": 1, "mark": "tombstone"},
        base | {"order": 3, "hours": -2, "late": 1, "mark": "value"},
        base | {"order": 3, "hours": -2, "late": 2, "mark": "retraction"},
        base | {"order": 4, "hours": 1, "late": -2, "mark": "value"},
        base | {"order": 5, "hours": -80, "late": 1, "mark": "value"},
        base | {"order": 6, "hours": -2, "late": 1, "mark": "value", "shop": None},
        base | {"order": 7, "hours": -2, "late": 30, "mark": "value"},
    ]
    counts = compute_snapshot(table_of(rows_of(raw)), VIEW, DAY, datetime.fromtimestamp(C.timestamp() + hours * 3600, UTC)).counts

    assert (counts.arrived, counts.used) == ((8, 1) if hours == 0 else (9, 2))
    assert (counts.superseded, counts.retracted, counts.tombstoned, counts.ahead, counts.before, counts.null_key) == (
        1,
        1,
        1,
        1,
        1,
        1,
    )
