"""Undo known sampling, once: by weights while learning, or on the scores afterwards, never both.

Positives kept at rate s1 and negatives at s0 multiply the odds of every score by s1 / s0. The scores' correction divides them:
with s = s0 / s1, `p' = s p / (s p + (1 - p))` (Dal Pozzolo et al. 2015; the prior correction of King and Zeng 2001). Ranking
does not change, so no AUC test notices a forgotten correction; calibration does. The weights' correction gives each row
1 / its keep-rate.

Both correct the *designed* sampling only. They are wrong when the keep-rate depended on the features, which
`check_uniform_rate` tests where the rows offered to the sampler are known, and they say nothing about a population that changed.
Numpy only: a training or serving machine needs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from headrace.quality.errors import CorrectionError
from headrace.spec.quality import Sampling

Way = Literal["weights", "scores"]
Floats = npt.NDArray[np.float64]

_HEAVIEST: Final = 50.0  # largest weight over the mean above which a handful of rows decides
_EFFECTIVE: Final = 0.1  # effective rows over rows below which most of the sample is wasted
_RATE_GATE: Final = 0.02  # difference of keep-rates between groups that matters


def correct_scores(scores: npt.ArrayLike, *, keep_positive: float = 1.0, keep_negative: float = 1.0) -> Floats:
    """Scores of shape [n] as probabilities in the population; exactly 0 at 0 and 1 at 1.

    Raises:
        CorrectionError: a rate outside (0, 1], or a score that is NaN or outside [0, 1].
    """
    _check_rates(keep_positive, keep_negative)
    p = np.asarray(scores, dtype=np.float64)
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        raise CorrectionError(
            "scores",
            found=f"{int(wrong.sum())} of {p.size} outside [0, 1], the first {p[wrong].flat[0]}",
            expected="probabilities",
            remedy="Correct the model's probabilities, not its logits or classes.",
        )
    # (1 - p) is kept in brackets: s*p + 1 - p rounds to less than s at p = 1, and the result to less than 1.
    return keep_negative * p / (keep_negative * p + keep_positive * (1 - p))


def logit_offset(*, keep_positive: float = 1.0, keep_negative: float = 1.0) -> float:
    """What to subtract from a linear model's intercept: log(s1 / s0)."""
    _check_rates(keep_positive, keep_negative)
    return math.log(keep_positive / keep_negative)


@dataclass(frozen=True, kw_only=True)
class SampleWeights:
    """Weights of shape [n].

    Attributes:
        raw: population rows each row stands for, 1 / keep-rate.
        normalised: raw scaled to mean 1, for learners whose step size depends on the scale.
        effective_rows: Kish's `(sum w)^2 / sum w^2`: how unequal the weights are. Not the rows to base an interval of the
            prevalence on, because these weights follow the label; `weighted_share` linearises instead.
        warnings: sentences, empty when nothing is odd.
    """

    raw: Floats
    normalised: Floats
    largest_over_mean: float
    effective_rows: float
    warnings: tuple[str, ...]


def weights_from(keep_rates: npt.ArrayLike) -> SampleWeights:
    """Weights from each row's probability of having been kept, shape [n].

    Raises:
        CorrectionError: no rows, or a rate that is missing, NaN, not above 0, or above 1.
    """
    rates = _rates_array(keep_rates)
    raw = 1 / rates
    mean = float(raw.mean())
    largest, effective = float(raw.max()) / mean, float(raw.sum() ** 2 / (raw**2).sum())
    found = []
    if largest > _HEAVIEST:
        found.append(f"The largest weight is {largest:.0f} times the mean: a handful of rows decides.")
    if effective < _EFFECTIVE * len(raw):
        found.append(f"{len(raw):,} rows weigh as {effective:,.0f} equal ones.")
    return SampleWeights(
        raw=raw, normalised=raw / mean, largest_over_mean=largest, effective_rows=effective, warnings=tuple(found)
    )


def _rates_array(keep_rates: npt.ArrayLike) -> Floats:
    try:
        rates = np.asarray(keep_rates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _bad_rate("a rate that is no number", "a rate above 0 and at most 1 for every row") from error
    wrong = ~((rates > 0) & (rates <= 1))
    if rates.size == 0 or wrong.any():
        found = "no rows" if rates.size == 0 else f"{int(wrong.sum())} of {rates.size} rows with a rate such as {rates[wrong][0]}"
        raise _bad_rate(found, "a rate above 0 and at most 1 for every row")
    return rates


def _check_rates(keep_positive: float, keep_negative: float) -> None:
    for name, rate in (("keep_positive", keep_positive), ("keep_negative", keep_negative)):
        number = isinstance(rate, (int, float)) and not isinstance(rate, bool)
        if not (number and 0 < rate <= 1):
            raise _bad_rate(f"{name} = {rate!r}", "a rate above 0 and at most 1")


def _bad_rate(found: str, expected: str) -> CorrectionError:
    return CorrectionError(
        "keep-rate", found=found, expected=expected, remedy="Take the rates from the sampler that kept the rows."
    )


@dataclass(frozen=True, kw_only=True)
class Share:
    """A weighted share with its standard error and 95 % interval."""

    value: float
    error: float
    low: float
    high: float


def weighted_share(labels: npt.ArrayLike, weights: npt.ArrayLike) -> Share:
    """Hajek's estimate `sum(w y) / sum(w)` of the population share, its variance linearised; both of shape [n]."""
    y, w = np.asarray(labels, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    total = float(w.sum())
    value = float(w @ y) / total
    error = float(np.sqrt(((w * (y - value)) ** 2).sum())) / total
    return Share(value=value, error=error, low=max(0.0, value - 1.959964 * error), high=min(1.0, value + 1.959964 * error))


def check_uniform_rate(offered: Mapping[str, int], kept: Mapping[str, int]) -> None:
    """Refuse a keep-rate that depended on the features.

    Args:
        offered: rows of one class offered to the sampler, by group (a level, a score band).
        kept: those it kept; a group that is absent kept none.

    Raises:
        CorrectionError: rates differ by more than 2 points between groups, and by more than chance allows (p < 0.001).
    """
    from headrace.quality.proportions import two_share_p

    rates = {group: kept.get(group, 0) / rows for group, rows in offered.items() if rows}
    if len(rates) < 2:
        return
    low, high = min(rates, key=lambda g: (rates[g], g)), max(rates, key=lambda g: (rates[g], g))
    p_value = two_share_p(kept.get(low, 0), offered[low], kept.get(high, 0), offered[high]) * len(rates)
    if rates[high] - rates[low] > _RATE_GATE and p_value < 0.001:
        raise CorrectionError(
            "keep-rate",
            found=f"{rates[low]:.1%} kept in {low}, {rates[high]:.1%} in {high}",
            expected="one rate, whatever the features",
            remedy="Sample at random within each class, or store each row's own keep-rate and use weights_from.",
        )


@dataclass(frozen=True, kw_only=True)
class Correction:
    """The sampling of a training set and whether it was undone: the record that keeps it from being undone twice."""

    sampling: Sampling
    applied: Way | None = None

    def correct(self, scores: npt.ArrayLike) -> tuple[Floats, Correction]:
        """(population probabilities, the record that says so). Raises CorrectionError when something was applied before."""
        after = self._apply("scores")
        rates = {"keep_positive": self.sampling.keep_positive, "keep_negative": self.sampling.keep_negative}
        return correct_scores(scores, **rates), after

    def weigh(self, labels: npt.ArrayLike) -> tuple[SampleWeights, Correction]:
        """(weights by label, the record that says so). Raises CorrectionError when something was applied before."""
        after = self._apply("weights")
        y = np.asarray(labels)
        if y.dtype != np.bool_:
            raise CorrectionError(
                "labels", found=str(y.dtype), expected="booleans without nulls", remedy="Leave out unlabelled rows."
            )
        return weights_from(np.where(y, self.sampling.keep_positive, self.sampling.keep_negative)), after

    def scorer(self, score: Callable[[Any], npt.ArrayLike]) -> CorrectedScorer:
        """`score` with its results corrected. Raises CorrectionError for a scorer that corrects already."""
        if isinstance(score, CorrectedScorer):
            raise _twice(score.correction.applied)
        return CorrectedScorer(score=score, correction=self._apply("scores"))

    def _apply(self, way: Way) -> Correction:
        if self.applied is not None:
            raise _twice(self.applied)
        return replace(self, applied=way)


@dataclass(frozen=True, kw_only=True)
class CorrectedScorer:
    """A model's scoring function whose results are population probabilities."""

    score: Callable[[Any], npt.ArrayLike]
    correction: Correction

    def __call__(self, features: Any) -> Floats:
        sampling = self.correction.sampling
        return correct_scores(self.score(features), keep_positive=sampling.keep_positive, keep_negative=sampling.keep_negative)


def _twice(applied: Way | None) -> CorrectionError:
    return CorrectionError(
        "correction",
        found=f"already applied by {applied}",
        expected="one correction",
        remedy="Weights while learning, or correction of the scores afterwards: choose one.",
    )
