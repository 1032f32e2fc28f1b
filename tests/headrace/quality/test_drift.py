"""Drift: every complaint others' users filed, as a table in and a verdict out."""

from __future__ import annotations

import datetime
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.drift import side_of
from headrace.quality.profiler import profile_table
from headrace.quality.reference import build_reference
from headrace.spec.quality import Column, Drift, KnownLevels, ProfilePlan, QualityPolicy, Range, RowCount, Sampling, TopShare
from quality_samples import CODE, judge_against, judge_column, judge_tables, normal

DRIFT = Drift(column="x")


def drift(reference, sample, **more):
    return judge_column(reference, sample, DRIFT, **more).check("drift.x")


def levels(**counts):
    return [level for level, count in counts.items() for _ in range(count)]


def test_b9_a_constant_that_changes_is_drift():
    """B9: 5 everywhere, then 50 everywhere: finite distance, every value out of the reference's range."""
    found = drift([5.0] * 2000, [50.0] * 2000)
    assert found.state == "failed"
    assert found.numbers["out_of_range_sample"] == 1.0
    assert 0 < found.numbers["psi"] < math.inf


@pytest.mark.parametrize(("shift", "state", "gate"), [(0.4, "warning", "0.1 warns"), (1.0, "failed", "0.25 fails")])
def test_the_reason_names_the_gate_that_was_passed(shift, state, gate):
    """A person who has never heard of a PSI reads how much was allowed."""
    found = drift(normal(5000, seed=1), [value + shift for value in normal(5000, seed=2)])
    assert (found.state, found.reason) == (state, f"The distribution moved: {found.observed}, where more than {gate}.")


def test_b10_b11_a_single_row_is_neither_drift_nor_ok():
    """B10, B11: one row against 5,000, eight rows against 150: too little data, with what chance alone would reach."""
    for before, after in ((5000, 1), (150, 8)):
        found = drift(normal(before, seed=1), normal(after, seed=2))
        assert found.state == "insufficient"
        assert found.reason.startswith(f"Too few rows ({after} against {before:,} rows): chance alone reaches a PSI of")


def test_b10_a_minimum_of_rows_fails_when_it_is_required():
    """B10: what may not be too small is declared so."""
    found = judge_column(normal(5000, seed=1), [0.1], DRIFT, RowCount(minimum=100))
    assert (found.check("row_count").state, found.state) == ("failed", "failed")


def test_b15_b16_dates_decimals_and_missing_values_are_no_obstacle():
    """B15, B16: levels that are dates, numbers that are decimals, nulls in both: a verdict in strict JSON."""
    dates = [datetime.date(2013, 1, 1 + i % 5) for i in range(500)] + [None] * 5
    assert drift(dates, dates, kind="categorical").state == "ok"
    money = [decimal.Decimal(i) / 100 for i in range(500)]
    assert drift(money, money).state == "ok"


@pytest.mark.parametrize("dtype", [pa.int64(), pa.int16(), pa.float64(), pa.decimal128(12, 2)])
def test_b18_the_same_values_have_the_same_verdict_whatever_their_type(dtype):
    """B18: an integer column that becomes nullable, float or decimal has not drifted."""
    values = [i % 37 for i in range(2000)]
    before, after = pa.array(values, pa.int64()), pa.array([*values, None], pa.int32()).cast(dtype)
    found = drift(before, after)
    assert (found.state, found.numbers["psi_debiased"] < 0.001) == ("ok", True)


@pytest.mark.parametrize(
    ("before", "after"),
    [({"a": 900, "b": 100}, {"a": 900, "b": 90, "c": 10}), ({"a": 500, "b": 500}, {"a": 500}), ({"a": 9}, {"b": 9})],
)
def test_b26_b28_b29_new_and_vanished_levels_give_finite_numbers(before, after):
    """B26, B28, B29: empty cells on either side: finite distances, and the levels named."""
    found = drift(levels(**before), levels(**after), kind="categorical")
    assert all(math.isfinite(found.numbers[name]) for name in ("psi", "js", "linf", "shape_p"))
    new, gone = set(after) - set(before), set(before) - set(after)
    assert found.numbers["new_levels"] == (", ".join(sorted(new)) or None)
    assert found.numbers["vanished_levels"] == (", ".join(sorted(gone)) or None)


def test_b30_a_vanished_level_is_a_finding_by_itself():
    """B30: 40 % of the reference gone, its share taken up in proportion: named, with the share it had."""
    found = drift(levels(a=400, b=300, c=300), levels(b=500, c=500), kind="categorical")
    assert found.state == "failed"
    assert "Levels that are gone: 40.0 % before, 0 % now (a)." in found.reason


@pytest.mark.parametrize("values", [normal(5000, seed=3), [f"v{i}" for i in range(5000)]])
def test_b32_the_number_of_cells_is_capped(values):
    """B32: 5,000 distinct values make at most 50 cells (and the two of missing and infinite)."""
    kind = "categorical" if isinstance(values[0], str) else "numeric"
    found = drift(values, values, kind=kind)
    assert len(found.histogram.cells) <= 52


def test_b35_one_outlier_does_not_hide_a_shift():
    """B35: a one-sigma lognormal shift is PSI 0.911 on reference deciles, with and without a single value of 1e6."""
    draw = np.random.default_rng(0)
    before, after = draw.lognormal(size=100_000), draw.lognormal(1.0, size=100_000)
    plain, outlier = drift(before, after), drift(before, [*after[1:], 1e6])
    assert plain.numbers["psi"] == pytest.approx(0.911, abs=0.03)
    assert outlier.numbers["psi"] == pytest.approx(plain.numbers["psi"], abs=0.001)
    assert outlier.state == "failed"


def test_b38_a_column_that_became_one_value_is_found():
    """B38: the share of the top value, and of the declared default, have their own checks."""
    before = np.where(np.arange(2000) % 20 == 0, 0.0, normal(2000, seed=1))
    found = judge_column(
        before, np.where(np.arange(2000) % 2 == 0, 0.0, before), DRIFT, TopShare(column="x", maximum=0.3), default=0.0
    )
    assert found.check("top_share.x").reason.startswith("50.0 % in one value (0)")
    assert "The declared default value: 5.00 % before, 50.0 % now." in found.check("drift.x").reason


def test_b39_a_million_rows_do_not_turn_a_tiny_shift_into_drift():
    """B39: 0.01 standard deviations at a million rows is significant and far below every gate: ok, with its numbers."""
    found = drift(normal(1_000_000, seed=1), normal(1_000_000, seed=2, shift=0.01))
    assert found.numbers["shape_p"] < 0.01
    assert found.state == "ok"


@pytest.mark.parametrize(("before", "after"), [(300, 300), (900, 900), (5_000, 5_000), (100_000, 100_000), (100, 20)])
def test_b40_two_hundred_features_without_drift_raise_no_alarm(before, after):
    """B40: 200 null features at small and large n: not one warning or failure (PSI > 0.1 alone would flag up to 199)."""
    columns = tuple(Column(name=f"f{i}", kind="numeric") for i in range(200))
    first = pa.table({c.name: normal(before, seed=i) for i, c in enumerate(columns)})
    second = pa.table({c.name: normal(after, seed=1000 + i) for i, c in enumerate(columns)})
    found = judge_tables(first, second, columns, tuple(Drift(column=c.name) for c in columns))
    assert [check.id for check in found.checks if check.state in ("warning", "failed")] == []


def test_two_hundred_categorical_features_without_drift_raise_no_alarm():
    """The same for levels, rare ones among them, where L-inf and the level shares are watched too."""
    columns = tuple(Column(name=f"f{i}", kind="categorical") for i in range(200))
    names = np.array(list("abcdefgh"))
    shares = np.array([40, 25, 15, 10, 6, 2.5, 1, 0.5]) / 100

    def table(seed):
        draw = np.random.default_rng(seed)
        return pa.table({c.name: names[draw.choice(8, 1000, p=shares)] for c in columns})

    found = judge_tables(table(1), table(2), columns, tuple(Drift(column=c.name) for c in columns))
    assert [check.reason for check in found.checks if check.state in ("warning", "failed")] == []


def test_b43_tied_values_are_counted_exactly():
    """B43: a value repeated 60,000 times keeps its weight: its own cell, with its count."""
    values = np.concatenate([np.full(60_000, 7.0), normal(40_000, seed=1)])
    found = drift(values, values)
    assert found.histogram.reference[found.histogram.cells.index("= 7")] == 60_000


def test_b45_a_change_in_the_top_one_percent_is_found():
    """B45: only the largest 1 % grows tenfold: out of the reference's range, which KS cannot see."""
    before = np.random.default_rng(1).exponential(size=20_000)
    after = np.random.default_rng(2).exponential(size=20_000)
    after = np.where(after > np.quantile(after, 0.99), after * 10, after)
    found = drift(before, after)
    assert found.state == "warning"
    assert "Values outside the reference's range" in found.reason
    assert found.numbers["ks"] < 0.02


def test_b67_values_that_go_missing_are_drift():
    """B67, decision 9: 0 to 30 % null with the same split of the rest is a failure, not a distance of zero."""
    values = levels(a=700, b=300)
    found = drift(values, [None if i % 10 < 3 else value for i, value in enumerate(values)], kind="categorical")
    assert found.state == "failed"
    assert "Missing values: 0 % before, 30.0 % now." in found.reason


def test_a_rare_share_that_doubles_is_a_warning():
    """0.4 % to 1.0 % missing in 20,000 rows is below one point, but more than double in more than 50 rows."""
    before, after = normal(20_000, seed=1), normal(20_000, seed=2)
    found = drift(np.where(np.arange(20_000) % 250 == 0, np.nan, before), np.where(np.arange(20_000) % 100 == 0, np.nan, after))
    assert (found.state, found.reason) == ("warning", "Missing values: 0.400 % before, 1.00 % now.")


def test_a_level_outside_the_declared_ones_is_counted_with_examples():
    """A closed set of levels: the share outside, and who they are, with and without a reference."""
    check = KnownLevels(column="x", maximum=0.001)
    values = [*levels(a=500, b=498), "c", "d"]
    with_reference = judge_column(levels(a=10, b=10), values, check, kind="categorical", levels=("a", "b"))
    columns = (Column(name="x", kind="categorical", levels=("a", "b")),)
    without = judge_against(None, pa.table({"x": values}), QualityPolicy(columns=columns, checks=(check,)))
    for found in (with_reference, without):
        reason = "0.200 % outside the declared levels (c, d), where at most 0.100 % is allowed."
        assert found.check("known_levels.x").reason == reason


def test_a_boolean_that_flips_is_drift_by_l_infinity():
    """50 % to 62 % true is a small PSI and a change of 12 points: failed by the readable number."""
    found = drift([True, False] * 2000, [True] * 2480 + [False] * 1520, kind="boolean")
    assert found.numbers["psi_debiased"] < 0.1
    assert (found.state, found.observed) == ("failed", "PSI 0.058, L-inf 0.120")


@pytest.mark.parametrize(("metric", "observed"), [("ks", "KS 0.2"), ("js", "JS 0.2"), ("psi", "PSI 0.2")])
def test_a_chosen_metric_is_the_one_that_gates(metric, observed):
    """Half a standard deviation by each metric: the chosen one is reported and judged."""
    check = Drift(column="x", metric=metric)
    found = judge_column(normal(20_000, seed=1), normal(20_000, seed=2, shift=0.5), check).check(check.id)
    assert found.observed.startswith(observed)
    assert found.state in ("warning", "failed")


def test_a_designed_sample_is_weighted_back_before_it_is_compared():
    """Rows kept by label at 4.5 %: a feature that follows the label does not drift, and effective rows are fewer than rows."""
    draw = np.random.default_rng(3)

    def population(rows):
        y = draw.random(rows) < 0.05
        return pa.table({"y": y, "x": draw.normal(size=rows) + 2 * y})

    columns = (Column(name="y", kind="boolean"), Column(name="x", kind="numeric"))
    reference = build_reference(population(50_000), ProfilePlan(columns=columns), code_fingerprint=CODE)
    whole = population(200_000)
    kept = whole.filter(pa.array(np.asarray(whole["y"]) | (draw.random(200_000) < 0.045)))

    def found(sampling):
        policy = QualityPolicy(columns=columns, checks=(DRIFT,), reference="r.json", sampling=sampling)
        return judge_against(reference, kept, policy).check("drift.x")

    assert found(None).state == "failed"
    assert found(Sampling(label="y", keep_negative=0.045)).state == "ok"
    assert found(Sampling(label="y", keep_negative=0.045)).numbers["sample_rows"] < kept.num_rows


def test_weighted_drift_has_its_nominal_error():
    """400 designed samples without drift: shape p below 5 % in about 5 %, thanks to effective rows; raw rows would double it."""
    from headrace.quality.distance import homogeneity_p

    draw, sampling = np.random.default_rng(8), Sampling(label="y", keep_positive=1.0, keep_negative=0.1)
    plan = ProfilePlan(columns=(Column(name="y", kind="boolean"), Column(name="x", kind="numeric")), sampling=sampling)
    start = pa.table({"y": [False] * 9 + [True], "x": np.linspace(-1, 1, 10)})
    bins = build_reference(start, plan, code_fingerprint=CODE).bins
    truth = profile_table(sampled(draw, 2_000_000, 1.0), ProfilePlan(columns=plan.columns), code_fingerprint=CODE, bins=bins)
    base = side_of(truth.columns["x"], truth.weights)
    p_values = []
    for _ in range(400):
        profile = profile_table(sampled(draw, 8_000, 0.1), plan, code_fingerprint=CODE, bins=bins)
        side = side_of(profile.columns["x"], profile.weights)
        p_values.append(homogeneity_p(base.counts, side.counts))
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.09


def sampled(draw, rows, keep):
    y = draw.random(rows) < 0.1
    kept = y | (draw.random(rows) < keep)
    return pa.table({"y": y[kept], "x": draw.normal(size=kept.sum()) * 0.5 + y[kept] * 0.3})


def test_range_reads_exact_extremes():
    """One value of 24 in an hour column, named in the reason."""
    found = judge_column([0, 23], [0, 5, 24], Range(column="x", minimum=0, maximum=23)).check("range.x")
    assert (found.state, found.reason) == ("failed", "The largest value 24 is above 23.")
