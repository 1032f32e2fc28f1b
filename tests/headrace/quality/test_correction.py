"""Corrections: the golden fraud example, both rates, both ends exact, and never twice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from headrace.quality.correction import (
    Correction,
    check_uniform_rate,
    correct_scores,
    logit_offset,
    weighted_share,
    weights_from,
)
from headrace.quality.errors import CorrectionError
from headrace.spec.quality import Sampling
from hypothesis import given
from hypothesis import strategies as st

KEEP = 4500 / 99500
FRAUD = Sampling(label="fraud", keep_positive=1.0, keep_negative=KEEP)
rates = st.floats(1e-6, 1.0)
scores = st.floats(0, 1)


def test_the_fraud_example_of_the_seeds():
    """100,000 transactions at 0.5 %: 500 positives, 4,500 negatives kept for 10 %, a keep-rate of 4.52 %, 0.5 -> 0.0433."""
    positives = round(100_000 * 0.005)
    negatives = round(positives / 0.10) - positives
    keep = negatives / (100_000 - positives)
    assert (positives, negatives, round(100 * keep, 2)) == (500, 4500, 4.52)
    assert correct_scores([0.5], keep_negative=keep)[0] == pytest.approx(0.0432692308, abs=1e-10)


def test_b68_known_good_numbers():
    """B68: 0.5, 0.1, 0 and 1 at s = 4500/99500; the ends exact."""
    found = correct_scores([0.5, 0.1, 0.0, 1.0], keep_negative=KEEP)
    assert found[:2] == pytest.approx([0.0432692308, 0.005], abs=1e-10)
    assert found[2:].tolist() == [0.0, 1.0]


@given(scores, rates, rates)
def test_b71_two_rates_divide_the_odds(p, s1, s0):
    """B71: p' = (p/s1) / (p/s1 + (1-p)/s0), at every rate, inside [0, 1], exact at the ends."""
    found = float(correct_scores(p, keep_positive=s1, keep_negative=s0))
    assert found == pytest.approx((p / s1) / (p / s1 + (1 - p) / s0), rel=1e-9, abs=1e-300)
    assert 0 <= found <= 1
    assert float(correct_scores(1.0, keep_positive=s1, keep_negative=s0)) == 1.0


@given(st.lists(scores, min_size=2, max_size=20), rates)
def test_ranking_does_not_change(values, keep):
    """The correction is monotone, which is why AUC cannot notice that it is missing."""
    found = correct_scores(sorted(values), keep_negative=keep)
    assert (np.diff(found) >= 0).all()


def test_the_logit_offset_is_the_same_correction():
    """Subtracting log(s1/s0) from the logit of 0.5 gives the corrected probability."""
    offset = logit_offset(keep_negative=KEEP)
    assert 1 / (1 + math.exp(offset)) == pytest.approx(0.0432692308, abs=1e-10)


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.0001, math.nan, math.inf, None, True])
def test_b72_bad_rates_are_refused(rate):
    """B72: a rate of 0, above 1, NaN or no number."""
    with pytest.raises(CorrectionError):
        correct_scores([0.5], keep_negative=rate)


@pytest.mark.parametrize("row_rates", [[], [0.5, 0.0], [0.5, 1.5], [0.5, math.nan], [0.5, None]])
def test_b72_a_row_without_a_rate_is_refused(row_rates):
    """B72: missing for some rows, or none at all."""
    with pytest.raises(CorrectionError):
        weights_from(row_rates)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_a_score_that_is_no_probability_is_refused(value):
    """Logits and NaN are not corrected into something plausible."""
    with pytest.raises(CorrectionError, match="probabilities"):
        correct_scores([0.5, value])


def test_b77_weights_reproduce_the_population():
    """B77: 500 + 4,500 kept rows weigh as 100,000 at 0.5 %, with raw and normalised weights and their spread."""
    labels = np.array([True] * 500 + [False] * 4500)
    weights, record = Correction(sampling=FRAUD).weigh(labels)
    share = weighted_share(labels, weights.raw)
    assert weights.raw.sum() == pytest.approx(100_000)
    assert weights.normalised.mean() == pytest.approx(1.0)
    assert share.value == pytest.approx(0.005, abs=1e-12)
    assert share.error == pytest.approx(0.00023, abs=2e-5)  # not 0.00105, which Kish's effective size would give
    assert share.low < 0.005 < share.high
    assert weights.effective_rows == pytest.approx(4545, rel=0.02)
    assert record.applied == "weights"


def test_the_linearised_error_is_the_real_one():
    """1,000 draws of a population sampled by label: the spread of the estimate is what one draw said."""
    draw = np.random.default_rng(5)
    found = []
    for _ in range(1000):
        positives = draw.binomial(20_000, 0.02)
        negatives = draw.binomial(20_000 - positives, 0.1)
        labels = np.repeat([True, False], [positives, negatives])
        found.append(weighted_share(labels, np.where(labels, 1.0, 10.0)))
    assert np.std([s.value for s in found]) == pytest.approx(np.mean([s.error for s in found]), rel=0.1)
    assert 0.92 <= np.mean([s.low <= 0.02 <= s.high for s in found]) <= 0.98


def test_extreme_weights_warn():
    """One row in a thousand at a rate of 1e-5 decides everything: said in words."""
    assert len(weights_from([1.0] * 999 + [1e-5]).warnings) == 2
    assert weights_from([1.0, 0.5]).warnings == ()


@pytest.mark.parametrize("first", ["correct", "weigh"])
@pytest.mark.parametrize("second", ["correct", "weigh", "scorer"])
def test_a_second_correction_is_refused(first, second):
    """Weights and scores, in any combination: once."""
    arguments = {"correct": [0.5], "weigh": [True], "scorer": lambda features: features}
    _, record = getattr(Correction(sampling=FRAUD), first)(arguments[first])
    with pytest.raises(CorrectionError, match="already applied"):
        getattr(record, second)(arguments[second])


def test_a_corrected_scorer_is_not_corrected_again():
    """A wrapped model gives population probabilities, and cannot be wrapped a second time."""
    scorer = Correction(sampling=FRAUD).scorer(lambda features: np.full(len(features), 0.5))
    assert scorer([1, 2]) == pytest.approx([0.0432692308] * 2, abs=1e-10)
    with pytest.raises(CorrectionError, match="already applied by scores"):
        Correction(sampling=FRAUD).scorer(scorer)


def test_unlabelled_rows_have_no_weight_by_label():
    """A label that may be null is refused rather than read as negative."""
    with pytest.raises(CorrectionError, match="without nulls"):
        Correction(sampling=FRAUD).weigh([True, None])


def test_a_keep_rate_that_depends_on_the_features_is_refused():
    """Easy negatives kept at 20 %, others at 4 %: no two numbers undo that."""
    offered = {"web": 10_000, "shop": 10_000}
    with pytest.raises(CorrectionError, match=r"4\.0% kept in shop, 20\.0% in web"):
        check_uniform_rate(offered, {"web": 2000, "shop": 400})
    check_uniform_rate(offered, {"web": 450, "shop": 470})
    check_uniform_rate({"web": 20, "shop": 20}, {"web": 1, "shop": 3})
