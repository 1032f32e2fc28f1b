"""Is the label as frequent as in the population, once the known sampling is undone?

A training set that keeps positives at rate s1 and negatives at s0 has the population's odds times s1 / s0. So the test is not
"are the shares equal" but "is the ratio of odds between training and reference s1 / s0". Below 1e5 rows it is exact: given
all positives, those in training follow Fisher's noncentral hypergeometric distribution. Above, the log odds ratio (0.5 added
to each cell) is normal enough: type I error 4.6-5.4 % at 5 %, 0.9-1.25 % at 1 %, from 20k to 1M rows.

General drift distances cannot do this: a rare label going from 0.5 % to 1.0 % is a PSI of 0.0035. And asking whether the
corrected prevalence lies in the reference's interval ignores training noise: at equal sizes it alarms 17 % of the time at 5 %.

It cannot see a keep-rate that depended on the features, and clustered rows (many per entity) make it too sure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from scipy.special import ndtri

from headrace.quality.hypergeometric import two_sided_p

EXACT_BELOW_ROWS: Final = 100_000
POWER: Final = 0.8


@dataclass(frozen=True, kw_only=True)
class LabelCounts:
    """Rows with a final label: `positives` of `labelled`."""

    positives: int
    labelled: int

    @property
    def negatives(self) -> int:
        return self.labelled - self.positives

    @property
    def share(self) -> float:
        return self.positives / self.labelled


@dataclass(frozen=True, kw_only=True)
class PrevalenceTest:
    """The comparison of training and reference.

    Attributes:
        odds_ratio: training odds over reference odds over s1 / s0; 1 when both tell of one population (0.5 added per cell).
        low, high: its interval at confidence 1 - alpha.
        p_value: two-sided, of a ratio of 1.
        detectable: the ratio above 1 that this many rows find with 80 % power at alpha.
        corrected: training prevalence with the sampling undone.
        method: `exact` or `log odds`.
    """

    odds_ratio: float
    low: float
    high: float
    p_value: float
    detectable: float
    corrected: float
    method: str


def compare_prevalence(
    training: LabelCounts, reference: LabelCounts, *, keep_positive: float = 1.0, keep_negative: float = 1.0, alpha: float = 0.01
) -> PrevalenceTest:
    """Test equal prevalence given the keep-rates, each in (0, 1]. Both samples need at least one labelled row."""
    ratio = keep_positive / keep_negative
    cells = [count + 0.5 for count in (training.positives, training.negatives, reference.positives, reference.negatives)]
    log_ratio = math.log(cells[0] / cells[1] * cells[3] / cells[2] / ratio)
    error = math.sqrt(sum(1 / cell for cell in cells))
    z_alpha, z_power = float(ndtri(1 - alpha / 2)), float(ndtri(POWER))
    exact = training.labelled + reference.labelled < EXACT_BELOW_ROWS
    return PrevalenceTest(
        odds_ratio=math.exp(log_ratio),
        low=_exp(log_ratio - z_alpha * error),
        high=_exp(log_ratio + z_alpha * error),
        p_value=two_sided_p((training.positives, training.negatives), (reference.positives, reference.negatives), odds=ratio)
        if exact
        else math.erfc(abs(log_ratio) / error / math.sqrt(2)),
        detectable=_exp((z_alpha + z_power) * error),
        corrected=undo_sampling(training.share, keep_positive=keep_positive, keep_negative=keep_negative),
        method="exact" if exact else "log odds",
    )


def undo_sampling(share: float, *, keep_positive: float, keep_negative: float) -> float:
    """The population share behind a share of a sample whose classes were kept at these rates."""
    positive, negative = share / keep_positive, (1 - share) / keep_negative
    return positive / (positive + negative)


def _exp(value: float) -> float:
    # A table with empty cells can have an interval end beyond any float.
    return math.exp(min(value, 700.0))
