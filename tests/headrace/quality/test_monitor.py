"""Live data against the training set in use: same code, exact sums, segments, and served values one by one."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date, timedelta
from math import isnan
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from flights_lake import RUN, checked, land, publish_days
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.quality.evidence import Evidence
from headrace.quality.fingerprint import code_fingerprint
from headrace.quality.gate import promote_checked
from headrace.quality.monitor import LiveDataDiffers, in_use, live_rows, watch_day
from headrace.quality.observe import reference_of
from headrace.quality.parity import ParityCounts, count_parity
from headrace.quality.profiler import profile_table
from headrace.quality.reference import build_reference
from headrace.quality.segments import SegmentPair, paired, profile_segments
from headrace.quality.verdict import judge
from headrace.spec.errors import DeclarationError
from headrace.spec.live import LiveSource, Parity, live_policy
from headrace.spec.quality import Column, Drift, MissingShare, QualityPolicy, RowCount, expect
from hypothesis import given
from hypothesis import strategies as st

from include.datasets.flights import CARRIER_DELAYS, FLIGHT_DELAY, QUALITY

DAYS = [date(2013, 1, 1) + timedelta(days=n) for n in range(3)]
LIVE = FLIGHT_DELAY.live
assert LIVE is not None


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """Two released days and a third that is only live."""
    folder = tmp_path_factory.mktemp("flights")
    source, lake = LocalStore(folder / "landing"), LocalStore(folder / "lake")
    land(source, DAYS)
    publish_days(source, lake, DAYS)
    for day in DAYS[:2]:
        digest, _ = checked(FLIGHT_DELAY, day, lake)
        promote_checked(FLIGHT_DELAY, day.isoformat(), digest, RUN, lake=lake)
    return lake


def test_a_usual_day_is_like_the_training_set(flights: LocalStore) -> None:
    """Every check that can be asked of live data passes; the page and the verdict lie beside the training set."""
    found = watch_day(FLIGHT_DELAY, LIVE, DAYS[2], RUN, lake=flights)

    assert [item.id for item in found.verdict.checks] == [
        "schema",
        "feature_code",
        "drift.distance",
        "drift.distance@origin=EWR",
        "drift.distance@origin=JFK",
        "drift.distance@origin=LGA",
    ]
    assert (found.verdict.state, found.verdict.rows) == ("ok", 914)
    assert found.verdict.about["training set in use"].endswith(", 2 days")
    assert flights.head(layout.monitor_report("flight_delay", "2013-01-03", found.subject)) is not None
    found.check()
    assert watch_day(FLIGHT_DELAY, LIVE, DAYS[2], RUN, lake=flights) == found


def test_the_training_side_is_the_sum_of_the_release(flights: LocalStore) -> None:
    """Merged profiles equal the profile of all rows together."""
    reference, code = reference_of(QUALITY), code_fingerprint(FLIGHT_DELAY)
    assert reference is not None
    found = in_use(FLIGHT_DELAY, code, reference, LIVE.segments, lake=flights)

    assert found is not None
    assert (found.days, found.left_out, found.profile.rows) == (2, 0, 831 + 928)
    assert sum(part.rows for part in found.segments.values()) == found.profile.rows
    other = in_use(FLIGHT_DELAY, "other code", reference, (), lake=flights)
    assert other is None


def test_without_comparable_training_data_nothing_passes(flights: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other feature code than the release's: not run, which is a failure that says so."""
    monkeypatch.setattr("headrace.quality.monitor.code_fingerprint", lambda _: "other code")
    found = watch_day(FLIGHT_DELAY, LIVE, DAYS[2], RUN, lake=flights)

    assert (found.verdict.state, found.verdict.passes) == ("not run", False)
    with pytest.raises(LiveDataDiffers, match="no released training data was counted by this feature code"):
        found.check()


def test_served_values_are_replayed_one_by_one(flights: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A serving log that equals the replay passes; the same values in another order fail, though no distribution changed."""
    from include.datasets.functions.flights_live import requests

    feature = CARRIER_DELAYS.features[0]
    truth = live_rows(FLIGHT_DELAY, LIVE, DAYS[2], lake=flights).column(feature)
    module = ModuleType("served_requests")
    module.same = lambda rows: requests(rows).append_column(f"served__{feature}", truth)  # type: ignore[attr-defined]
    module.turned = lambda rows: requests(rows).append_column(  # type: ignore[attr-defined]
        f"served__{feature}", truth.take(pa.array(np.roll(np.arange(len(truth)), 1)))
    )
    monkeypatch.setitem(sys.modules, "served_requests", module)
    states = {}
    for name in ("same", "turned"):
        live = replace(LIVE, rows=f"served_requests:{name}", parity=(Parity(column=feature),))
        verdict = watch_day(replace(FLIGHT_DELAY, live=live), live, DAYS[2], RUN, lake=flights).verdict
        states[name] = verdict.check(f"parity.{feature}").state
        drift = verdict.check("drift.distance").state
        assert drift == "ok"

    assert states == {"same": "ok", "turned": "failed"}
    assert "served" in str(verdict.check(f"parity.{feature}").numbers["examples"])


@pytest.mark.parametrize(
    ("again", "served", "different"),
    [
        (pa.array([1, 2, None]), pa.array([1, 2, None]), 0),
        (pa.array([1, 2, None]), pa.array([1, 3, 4]), 2),
        (pa.array([1.0, 0.0, None]), pa.array([1.0 + 5e-7, 0.0, None]), 0),
        (pa.array([1.0, 1.0]), pa.array([1.0 + 5e-6, -1.0]), 2),
        (pa.array([float("nan"), 1.0]), pa.array([float("nan"), float("nan")]), 1),
        (pa.array(["a", "b"]), pa.array(["a", "B"]), 1),
        (pa.array([1, 2]), pa.array([1.0, 2.5]), 1),
        (pa.array([True, None]), pa.array([True, False]), 1),
        (pa.array([float("inf")]), pa.array([float("inf")]), 0),
    ],
)
def test_equal_means(again: pa.Array, served: pa.Array, different: int) -> None:
    """Null with null, NaN with NaN, integers and texts exactly, numbers within a millionth."""
    counts = count_parity(pa.table({"x": again, "served__x": served}), Parity(column="x"))

    assert (counts.rows, counts.different, len(counts.examples)) == (len(again), different, different)


@given(values=st.lists(st.tuples(st.one_of(st.none(), st.floats()), st.one_of(st.none(), st.floats())), min_size=1, max_size=30))
def test_parity_agrees_with_a_loop(values: list[tuple[float | None, float | None]]) -> None:
    """Against a plain Python comparison, for any floats and nulls."""
    table = pa.table(
        {"x": pa.array([a for a, _ in values], pa.float64()), "served__x": pa.array([b for _, b in values], pa.float64())}
    )

    def differ(a: float | None, b: float | None) -> bool:
        if a is None or b is None:
            return a is not b
        if isnan(a) or isnan(b):
            return isnan(a) != isnan(b)
        return not (a == b or abs(a - b) <= 1e-6 * max(abs(a), abs(b)) < float("inf"))

    assert count_parity(table, Parity(column="x")).different == sum(differ(a, b) for a, b in values)


def test_a_served_column_that_is_absent_or_of_another_kind_fails_with_the_reason() -> None:
    """Never a pass by silence."""
    with pytest.raises(ValueError, match="no column served__x"):
        count_parity(pa.table({"x": [1]}), Parity(column="x"))
    with pytest.raises(ValueError, match="cannot be compared"):
        count_parity(pa.table({"x": ["a"], "served__x": [[1]]}), Parity(column="x"))


POLICY = QualityPolicy(
    columns=(Column(name="x", kind="numeric"), Column(name="c", kind="categorical", levels=("a", "b", "rare"))),
    checks=(RowCount(minimum=5), Drift(column="x")),
    reference="r.json",
)


def sides() -> tuple[pa.Table, pa.Table]:
    """Training and live; live moves by one deviation in segment b only, against it in a, so that the whole moves little."""
    draw = np.random.default_rng(5)
    level = draw.choice(["a", "b", "rare"], 20_000, p=[0.9, 0.09, 0.01])
    train = pa.table({"x": draw.normal(size=20_000), "c": level})
    shift = np.where(level == "b", 1.0, 0.0)
    return train, pa.table({"x": draw.normal(size=20_000) + shift, "c": level})


def test_a_shift_inside_a_segment_is_found_there() -> None:
    """The whole is fine, segment b failed, segment a is fine, and the rare one is left out."""
    train, live = sides()
    reference = build_reference(train, POLICY.plan, code_fingerprint="code")
    code = {"code_fingerprint": "code", "bins": reference.bins}
    segments = paired(
        profile_segments(train, POLICY, ("c",), **code), profile_segments(live, POLICY, ("c",), **code), minimum_rows=1_000
    )
    verdict = judge(profile_table(live, POLICY.plan, **code), POLICY, reference, segments=segments)

    assert {item.id: item.state for item in verdict.checks if item.kind == "Drift"} == {
        "drift.x": "ok",
        "drift.x@c=a": "ok",
        "drift.x@c=b": "failed",
    }
    assert (verdict.state, verdict.check("drift.x@c=b").column) == ("failed", "x")


def test_segments_without_drift_raise_no_alarm() -> None:
    """Forty segments of the same data: nothing fails or warns."""
    draw = np.random.default_rng(6)
    levels = tuple(f"l{n:02d}" for n in range(40))
    policy = replace(POLICY, columns=(POLICY.columns[0], replace(POLICY.columns[1], levels=levels)))
    train, live = (pa.table({"x": draw.normal(size=80_000), "c": draw.choice(levels, 80_000)}) for _ in range(2))
    reference = build_reference(train, policy.plan, code_fingerprint="code")
    code = {"code_fingerprint": "code", "bins": reference.bins}
    segments: dict[str, SegmentPair] = paired(
        profile_segments(train, policy, ("c",), **code), profile_segments(live, policy, ("c",), **code), minimum_rows=1_000
    )
    verdict = judge(profile_table(live, policy.plan, **code), policy, reference, segments=segments)

    assert len(segments) == 40
    assert {item.state for item in verdict.checks} == {"ok"}


def test_parity_without_counts_is_a_failure() -> None:
    """Declared and not compared fails; compared and different fails with examples."""
    table = sides()[1]
    reference = build_reference(table, POLICY.plan, code_fingerprint="code")
    profile = profile_table(table, POLICY.plan, code_fingerprint="code", bins=reference.bins)
    counted = Evidence(parity={"x": ParityCounts(rows=10, different=1, examples=("row 3: 1 served, 2 recomputed",))})
    silent, told = (judge(profile, POLICY, reference, evidence=item, parity=(Parity(column="x"),)) for item in (None, counted))

    assert silent.check("parity.x").reason == "Served values were not compared for this data."
    assert "10.0 % of the served values differ" in told.check("parity.x").reason
    assert (silent.passes, told.passes) == (False, False)


def test_the_live_policy_asks_nothing_about_labels() -> None:
    """Label columns, label checks, sampling and row counts are left out."""
    asked = live_policy(QUALITY)

    assert [column.name for column in asked.columns] == ["distance", "origin"]
    assert [item.id for item in asked.checks] == ["drift.distance"]
    assert asked.sampling is None


def test_listed_expectations_are_asked_of_live_rows(flights: LocalStore) -> None:
    """Every live row is looked at; one about the label, which nobody knows yet, is left out."""
    listed = (
        expect("expect_column_values_to_be_between", "distance", min_value=10, max_value=10_000),
        expect("expect_column_values_to_be_in_set", "origin", value_set=["EWR", "JFK"]),
        expect("expect_column_pair_values_to_be_equal", "label", "origin"),
    )
    training_set = replace(FLIGHT_DELAY, quality=replace(QUALITY, checks=(*QUALITY.checks, *listed)))
    verdict = watch_day(training_set, LIVE, DAYS[2], RUN, lake=flights).verdict
    found = [(item.column, item.state, item.numbers["unexpected"]) for item in verdict.checks if item.kind == "Expect"]

    origins = live_rows(FLIGHT_DELAY, LIVE, DAYS[2], lake=flights).column("origin").to_pylist()
    assert found == [("distance", "ok", 0), ("origin", "failed", origins.count("LGA"))]


def test_a_label_that_no_check_names_is_not_asked_of_live_rows() -> None:
    """It is declared to be profiled in training; live rows cannot have it."""
    asked = live_policy(replace(QUALITY, checks=(MissingShare(column="label"), Drift(column="distance"))))

    assert [column.name for column in asked.columns] == ["distance", "origin"]
    assert [item.id for item in asked.checks] == ["drift.distance"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"quality": None}, "a live source only beside a quality policy"),
        ({"live": replace(LIVE, segments=("distance",))}, "segments among the columns with declared levels"),
        ({"live": "flights"}, "a LiveSource or None"),
    ],
)
def test_a_live_source_that_nothing_can_be_asked_of_is_refused(change: dict[str, object], says: str) -> None:
    """At the door, with the field and what is allowed."""
    with pytest.raises(DeclarationError, match=says):
        replace(FLIGHT_DELAY, **change)


def test_a_live_source_with_a_wrong_field_is_refused() -> None:
    """Names and paths are checked like everywhere."""
    for fields in (
        {"dataset": "No"},
        {"rows": "no path"},
        {"segment_rows": 0},
        {"parity": (Parity(column="x"), Parity(column="x"))},
    ):
        with pytest.raises(DeclarationError):
            LiveSource(**{"dataset": "d", "rows": "a:b", **fields})
