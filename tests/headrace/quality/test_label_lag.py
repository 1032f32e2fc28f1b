"""Young rows are not negatives, and slow labels are missing from what was seen."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.errors import ProfileError
from headrace.quality.label_lag import DAY, LagCounts, completeness, count_lag, delays_differ, lag_prevalence, merge_lag

NOW = datetime(2013, 7, 1, tzinfo=UTC)
HORIZON = timedelta(days=90)


def days_ago(days):
    return None if days is None else NOW - timedelta(days=days)


def table_of(rows):
    """Rows of (event, days ago; label; label time, days ago)."""
    event, label, known = zip(*rows, strict=True)
    when = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            "at": pa.array(map(days_ago, event), when),
            "y": pa.array(label, pa.bool_()),
            "known": pa.array(map(days_ago, known), when),
        }
    )


def counted(table):
    return count_lag(table, event_time="at", label="y", label_time="known", as_of=NOW, horizon=HORIZON)


def test_states_by_hand():
    """One of each: a positive after 3.5 days, a matured negative, an immature row, a negative said too early, two leaks."""
    found = counted(
        table_of([(10, True, 6.5), (120, False, 20), (5, None, None), (30, False, 1), (10, True, 11), (10, True, -1)])
    )
    assert found.positives == {(10, 3): 1}
    assert found.others == {5: 1, 30: 1, 120: 1}
    assert (found.immature, found.immature_negative, found.before_event, found.after_as_of, found.rows) == (2, 1, 1, 1, 6)


@pytest.mark.parametrize("rows", [[(-1, None, None)], [(None, None, None)]])
def test_a_row_without_an_age_is_refused(rows):
    """An event of the future, or at no time at all."""
    with pytest.raises(ProfileError, match="event time at"):
        counted(table_of(rows))


def test_the_product_limit_by_hand():
    """Delays 1, 1, 2 seen from ages 3, 1, 3: of the two that could show a 2, one did; F(1) = 1/2 at delay 2's risk set of 2."""
    counts = LagCounts(unit=DAY, horizon=10, positives={(3, 1): 1, (1, 1): 1, (3, 2): 1})
    # Walking down: at 2, one of (3,1) and (3,2) took exactly 2; at 1, both remaining took exactly 1.
    assert completeness(counts).shares == (0.0, 0.5, 1.0)


def simulated(seed=0, rows=400_000, prevalence=0.00496):
    """Delays gamma(2, 12) days (mean 24), ages uniform to 90 days: what the label table looks like today."""
    draw = np.random.default_rng(seed)
    age, delay = draw.uniform(0, 120, rows), draw.gamma(2, 12, rows)
    seen = (draw.random(rows) < prevalence * 20) & (delay < age)
    cells = np.stack([age[seen], delay[seen]], axis=1).astype(int).tolist()
    others, positives = age[~seen].astype(int).tolist(), {}
    for a, d in cells:
        positives[(a, d)] = positives.get((a, d), 0) + 1
    return LagCounts(unit=DAY, horizon=90, positives=positives, others={a: others.count(a) for a in set(others)})


@pytest.fixture(scope="module")
def simulation():
    return simulated()


def test_b74_the_curve_is_not_the_naive_one(simulation):
    """B74: right truncation makes the plain mean of seen delays too short; the estimator recovers 24 days and F itself."""
    curve = completeness(simulation)
    naive = np.average([d + 0.5 for _, d in simulation.positives], weights=list(simulation.positives.values()))
    true = {t: 1 - (1 + t / 12) * np.exp(-t / 12) for t in (10, 24, 45, 60)}
    assert naive < 21.5
    assert curve.mean_delay == pytest.approx(24, abs=0.6)
    assert [curve.at(t - 1) for t in true] == pytest.approx(list(true.values()), abs=0.015)


def test_b73_completeness_weighting_repairs_the_prevalence(simulation):
    """B73: young rows counted as negative give a fifth too little; weighted by completeness the truth is inside the interval."""
    found, truth = lag_prevalence(simulation), 0.00496 * 20
    assert found.naive < 0.83 * truth
    assert found.corrected == pytest.approx(truth, rel=0.015)
    assert found.low < truth < found.high


def test_b73_the_worked_case_naive_completed_and_cut_off():
    """B73: 0.496 % true, 90 days: naive 27 % low; completed within 1 %; a cut-off at 60 days 4 % low, divided by F(60) not."""
    truth, arrived = 0.00496, [1 - (1 + t / 12) * math.exp(-t / 12) for t in range(91)]
    positives: dict[tuple[int, int], int] = {}
    for age in range(90):  # ten million rows of each age: expected counts, no draw
        for delay in range(age + 1):
            seen = arrived[delay + 1] - arrived[delay] if delay < age else (arrived[age + 1] - arrived[age]) / 2
            positives[age, delay] = round(1e7 * truth * seen)
    others = {age: 10**7 - sum(positives[age, delay] for delay in range(age + 1)) for age in range(90)}
    counts = LagCounts(unit=DAY, horizon=90, positives=positives, others=others)
    found, curve = lag_prevalence(counts), completeness(counts)
    cut_off = sum(n for (age, delay), n in positives.items() if age >= 60 and delay < 60) / (30 * 1e7)

    assert found.naive == pytest.approx(0.734 * truth, rel=0.001)
    assert found.corrected == pytest.approx(truth, rel=0.01)
    assert cut_off == pytest.approx(0.96 * truth, rel=0.001)
    assert cut_off / curve.at(59) == pytest.approx(truth, rel=0.01)


def test_the_curves_interval_is_that_of_a_bootstrap(simulation):
    """Against an oracle: rows drawn again 200 times, the curve estimated each time; half the middle 95 % is the margin within a sixth."""
    draw = np.random.default_rng(4)
    cells, rows = zip(*simulation.positives.items(), strict=True)
    share = np.array(rows) / sum(rows)
    curves = []
    for _ in range(200):
        again = draw.multinomial(sum(rows), share).tolist()
        drawn = {cell: count for cell, count in zip(cells, again, strict=True) if count}
        curves.append(completeness(LagCounts(unit=DAY, horizon=90, positives=drawn)))
    found = completeness(simulation)
    for age in (5, 24, 45):
        low, high = np.quantile([curve.at(age) for curve in curves], [0.025, 0.975])
        assert found.margins[age] == pytest.approx((high - low) / 2, rel=1 / 6)
    assert found.margins[-1] == 0  # by definition all have arrived by the longest delay


def test_counts_merge_in_any_order(simulation):
    """Two tables, either way round, are one table."""
    other = counted(table_of([(10, True, 6.5), (120, False, 20), (30, False, 1)]))
    assert merge_lag(simulation, other) == merge_lag(other, simulation)
    assert merge_lag(simulation, other).rows == simulation.rows + 3
    with pytest.raises(ProfileError, match="horizons"):
        merge_lag(other, LagCounts(unit=DAY, horizon=30))


def test_no_positives_have_no_curve():
    """Nothing to estimate from: no curve, and the naive prevalence of zero."""
    counts = LagCounts(unit=DAY, horizon=90, others={100: 50})
    assert completeness(counts) is None
    assert lag_prevalence(counts).corrected == 0
    assert lag_prevalence(LagCounts(unit=DAY, horizon=90)) is None


def test_a_slower_label_feed_is_noticed():
    """Delays twice as long in the newer cohort; the same feed twice is not an alarm."""
    draw = np.random.default_rng(4)

    def cohort(scale):
        delays = draw.gamma(2, scale, 2000).astype(int).tolist()
        return LagCounts(unit=DAY, horizon=90, positives={(95, d): delays.count(d) for d in set(delays) if d <= 95})

    assert delays_differ(cohort(12), cohort(24), window=90) < 1e-6
    assert delays_differ(cohort(12), cohort(12), window=90) > 0.01
    assert delays_differ(cohort(12), LagCounts(unit=DAY, horizon=90), window=90) is None
