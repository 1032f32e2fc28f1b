"""Distances equal scipy's and the published tables; PSI knows how many rows it has."""

from __future__ import annotations

import numpy as np
import pytest
from headrace.quality.distance import (
    debiased_psi,
    homogeneity_p,
    jensen_shannon,
    kolmogorov_smirnov,
    l_infinity,
    psi,
    psi_floor,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

histograms = st.integers(2, 12).flatmap(
    lambda cells: st.tuples(*[st.lists(st.integers(0, 500), min_size=cells, max_size=cells)] * 2)
)


def arrays(pair):
    a, b = (np.array(side, float) for side in pair)
    assume(a.sum() > 0 and b.sum() > 0)
    return a, b


@given(histograms)
def test_distances_equal_the_library_on_any_counts(pair):
    """JS distance in base 2, chi-square homogeneity, and the plain definitions of KS and L-infinity, to 1e-9."""
    a, b = arrays(pair)
    used = (a + b) > 0
    assert jensen_shannon(a, b) == pytest.approx(np.nan_to_num(jensenshannon(a, b, base=2)), abs=1e-7)
    if used.sum() > 1:
        expected = stats.chi2_contingency(np.array([a[used], b[used]]), correction=False).pvalue
        assert homogeneity_p(a, b) == pytest.approx(expected, abs=1e-9)
    p, q = a / a.sum(), b / b.sum()
    assert l_infinity(a, b) == max(abs(p - q))
    assert kolmogorov_smirnov(a, b) == pytest.approx(max(abs(p.cumsum() - q.cumsum())), abs=1e-12)


@given(histograms)
def test_psi_is_finite_and_symmetric(pair):
    """B26, B28: empty cells, new cells and vanished cells give a finite number, the same both ways."""
    a, b = arrays(pair)
    assert np.isfinite(psi(a, b))
    assert psi(a, b) >= 0
    assert psi(a, b) == pytest.approx(psi(b, a), abs=1e-12)


def test_psi_by_hand():
    """A worked example: counts 40/60 against 60/40, 0.5 added to each."""
    p, q = np.array([40.5, 60.5]) / 101, np.array([60.5, 40.5]) / 101
    assert psi(np.array([40.0, 60.0]), np.array([60.0, 40.0])) == pytest.approx(((q - p) * np.log(q / p)).sum(), abs=1e-15)


def test_b27_shares_far_below_one_percent_are_seen():
    """B27: 0.5 % against 0.9 % in a million rows is not 0, as it is when shares are clipped at 1 %."""
    assert psi(np.array([5_000.0, 995_000.0]), np.array([9_000.0, 991_000.0])) == pytest.approx(0.00237, abs=5e-5)


def test_decision_six_a_rare_label_doubling_is_no_drift_to_psi():
    """0.5 % to 1.0 %: PSI 0.0035, JS 0.025, L-inf 0.005. This is why prevalence has its own test."""
    a, b = np.array([5_000.0, 995_000.0]), np.array([10_000.0, 990_000.0])
    assert (psi(a, b), jensen_shannon(a, b), l_infinity(a, b)) == pytest.approx((0.0035, 0.025, 0.005), abs=6e-4)


SHIFTS = [
    (0.05, 0.002, 0.021, 0.020, 0.009),
    (0.1, 0.010, 0.042, 0.040, 0.019),
    (0.2, 0.038, 0.083, 0.080, 0.040),
    (0.3, 0.086, 0.124, 0.119, 0.063),
    (0.5, 0.238, 0.205, 0.197, 0.117),
    (1.0, 0.926, 0.391, 0.383, 0.289),
]


@pytest.mark.parametrize(("shift", "expected_psi", "js", "ks", "linf"), SHIFTS)
def test_a_shifted_normal_has_the_tabulated_distances(shift, expected_psi, js, ks, linf):
    """Ten deciles of a standard normal, exact probabilities: every distance of the table to its printed digits."""
    edges = stats.norm.ppf(np.linspace(0, 1, 11))
    a, b = np.diff(stats.norm.cdf(edges)) * 1e8, np.diff(stats.norm.cdf(edges - shift)) * 1e8
    assert (psi(a, b), jensen_shannon(a, b), kolmogorov_smirnov(a, b), l_infinity(a, b)) == pytest.approx(
        (expected_psi, js, ks, linf), abs=1e-3
    )


@pytest.mark.parametrize(
    ("n", "m", "mean", "point"), [(200, 200, 0.088, 0.166), (1000, 200, 0.053, 0.100), (10_000, 1_000, 0.010, 0.018)]
)
def test_psi_without_drift_is_what_the_table_says(n, m, mean, point):
    """4,000 draws of ten equal bins: mean and 95 % point as tabulated; debiased mean about 0; floor about the 95 % point."""
    draw = np.random.default_rng(11)
    first, second = draw.multinomial(n, [0.1] * 10, 4000).astype(float), draw.multinomial(m, [0.1] * 10, 4000).astype(float)
    found = np.array([psi(a, b) for a, b in zip(first, second, strict=True)])
    debiased = np.array([debiased_psi(a, b) for a, b in zip(first, second, strict=True)])
    assert found.mean() == pytest.approx(mean, rel=0.05)
    assert np.quantile(found, 0.95) == pytest.approx(point, rel=0.06)
    assert psi_floor(first[0], second[0]) == pytest.approx(point, rel=0.06)
    assert abs(debiased.mean()) < 0.05 * mean
