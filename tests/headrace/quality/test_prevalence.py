"""The prevalence test undoes known sampling, is exact for small counts, and says what it could not have seen."""

from __future__ import annotations

import numpy as np
import pytest
from headrace.quality.hypergeometric import two_sided_p
from headrace.quality.prevalence import LabelCounts, compare_prevalence, undo_sampling
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

KEEP = 4500 / 99500


def counts(positives, labelled):
    return LabelCounts(positives=positives, labelled=labelled)


@pytest.mark.parametrize(("positives", "p_value"), [(25, 1.0), (40, 0.0088), (10, 0.0015)])
def test_b69_training_at_ten_percent_against_a_reference_sample(positives, p_value):
    """B69: 500 of 5,000 with negatives kept at 4,500/99,500 against 5,000 reference rows: the known p-values."""
    found = compare_prevalence(counts(500, 5000), counts(positives, 5000), keep_negative=KEEP)
    assert found.p_value == pytest.approx(p_value, abs=5e-5)
    assert found.method == "exact"


def test_b69_no_positives_among_two_hundred_rows_proves_nothing():
    """B69: 0 of 200 against 5 of 50 under that sampling: p = 0.82, and only a huge ratio would have been seen."""
    found = compare_prevalence(counts(5, 50), counts(0, 200), keep_negative=KEEP)
    assert found.p_value == pytest.approx(0.82, abs=0.005)
    assert found.detectable > 10


def test_the_corrected_prevalence_is_the_population_share():
    """500 of 5,000 kept rows are 0.5 % of the population."""
    assert compare_prevalence(counts(500, 5000), counts(25, 5000), keep_negative=KEEP).corrected == pytest.approx(
        0.005, abs=1e-15
    )


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.sampled_from([1.0, 0.05, 22.1, 3.7]))
def test_the_exact_p_value_equals_the_library_distribution(a, b, c, d, odds):
    """Twice the smaller tail of Fisher's noncentral hypergeometric distribution, to 1e-9."""
    assume(a + b > 0 and c + d > 0)
    library = stats.nchypergeom_fisher(a + b + c + d, a + c, a + b, odds)
    expected = min(1.0, 2 * min(library.cdf(a), library.sf(a - 1)))
    assert two_sided_p((a, b), (c, d), odds=odds) == pytest.approx(expected, abs=1e-9)


def test_large_counts_use_the_log_odds():
    """Above 1e5 rows the z test of the log odds ratio, equal to its formula by hand."""
    found = compare_prevalence(counts(1100, 100_000), counts(1000, 100_000), alpha=0.05)
    cells = np.array([1100.5, 98900.5, 1000.5, 99000.5])
    z = np.log(cells[0] * cells[3] / cells[1] / cells[2]) / np.sqrt((1 / cells).sum())
    assert found.method == "log odds"
    assert found.p_value == pytest.approx(2 * stats.norm.sf(z), abs=1e-9)
    assert found.low < found.odds_ratio < found.high


@pytest.mark.parametrize(("keep_negative", "rows"), [(1.0, 2_000), (0.0452, 2_000), (0.0452, 80_000)])
def test_type_one_error_is_nominal(keep_negative, rows):
    """No difference, 2,000 draws: rejected at 5 % in at most 6 % of cases; exact tests on small counts may be below."""
    draw = np.random.default_rng(rows)
    truth = 0.02
    kept = truth / (truth + (1 - truth) * keep_negative)
    training, reference = draw.binomial(rows, kept, 2000), draw.binomial(rows, truth, 2000)
    alarms = np.mean(
        [
            compare_prevalence(counts(int(a), rows), counts(int(b), rows), keep_negative=keep_negative).p_value < 0.05
            for a, b in zip(training, reference, strict=True)
        ]
    )
    assert (0.04 if rows > 50_000 else 0.02) <= alarms <= 0.06


@pytest.mark.parametrize(("other", "rows"), [(0.01, 7_000), (0.02, 1_300)])
def test_power_is_as_tabulated(other, rows):
    """Base 0.5 %, alpha 0.01: 7,000 rows a side find 1.0 %, 1,300 find 2 %, in about 80 % of 400 draws."""
    draw = np.random.default_rng(7)
    found = [
        compare_prevalence(counts(int(a), rows), counts(int(b), rows)).p_value < 0.01
        for a, b in zip(draw.binomial(rows, other, 400), draw.binomial(rows, 0.005, 400), strict=True)
    ]
    assert 0.70 <= np.mean(found) <= 0.90


@pytest.mark.parametrize(
    ("positive", "negative", "share", "population"),
    [(1.0, 4500 / 99500, 0.1, 0.005), (0.5, 1.0, 0.5, 2 / 3), (0.5, 0.5, 0.3, 0.3), (1.0, 0.1, 0.0, 0.0), (1.0, 0.1, 1.0, 1.0)],
)
def test_undoing_the_sampling(positive, negative, share, population):
    """Odds divided by the ratio of the rates."""
    assert undo_sampling(share, keep_positive=positive, keep_negative=negative) == pytest.approx(population, abs=1e-12)
