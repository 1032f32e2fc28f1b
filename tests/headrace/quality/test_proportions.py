"""Intervals of shares and the two-sample test equal scipy's; coverage at rare shares is what was promised."""

from __future__ import annotations

import numpy as np
import pytest
from headrace.quality.proportions import clopper_pearson, share_interval, two_share_p, wilson
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats


@given(st.integers(1, 500), st.data())
def test_intervals_equal_the_library(rows, data):
    """Wilson and Clopper-Pearson to 1e-9 for any count."""
    positives = data.draw(st.integers(0, rows))
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        theirs = stats.binomtest(positives, rows).proportion_ci(method=method)
        assert ours(positives, rows) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_few_positives_get_the_exact_interval():
    """Below ten positives Clopper-Pearson, from ten on Wilson."""
    assert (share_interval(9, 5000)[2], share_interval(10, 5000)[2]) == ("Clopper-Pearson", "Wilson")


@pytest.mark.parametrize(("rows", "lowest"), [(200, 0.95), (1000, 0.93), (20000, 0.93)])
def test_coverage_at_half_a_percent(rows, lowest):
    """True share 0.5 %, 2,000 draws: the shown interval holds it about as often as it says."""
    draws = np.random.default_rng(3).binomial(rows, 0.005, 2000)
    intervals = {k: share_interval(int(k), rows) for k in set(draws.tolist())}
    assert np.mean([intervals[k][0] <= 0.005 <= intervals[k][1] for k in draws.tolist()]) >= lowest


def test_large_counts_equal_the_chi_square_test():
    """Pearson's chi-square without continuity correction, to 1e-9."""
    expected = stats.chi2_contingency([[60, 940], [40, 1960]], correction=False).pvalue
    assert two_share_p(60, 1000, 40, 2000) == pytest.approx(expected, abs=1e-9)


def test_small_counts_are_exact():
    """With an expected count below 5: twice the smaller hypergeometric tail."""
    tail = stats.hypergeom(1200, 4, 200).sf(2)
    assert two_share_p(3, 200, 1, 1000) == pytest.approx(2 * tail, abs=1e-9)


@pytest.mark.parametrize("shares", [(0, 10, 0, 20), (10, 10, 20, 20)])
def test_equal_extremes_are_no_difference(shares):
    """All or none on both sides."""
    assert two_share_p(*shares) == 1.0
