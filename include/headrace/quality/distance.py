"""Distances between two histograms on the same cells.

All take counts (or effective counts) of shape [cells]. Cells empty on both sides are left out. PSI adds 0.5 to each count, a
count and not a share, so that it stays finite and still sees shares far below 1 %. With no drift at all PSI is not 0: its
mean is (B - 1)(1/n + 1/m) and its 95 % point (1/n + 1/m) times that of chi-square with B - 1 degrees; `debiased_psi`
subtracts the former, `psi_floor` is the latter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, chdtri

Counts = npt.NDArray[np.float64]


def used_cells(reference: Counts, sample: Counts) -> tuple[Counts, Counts]:
    """Both histograms without the cells that are empty on both sides."""
    used = (reference > 0) | (sample > 0)
    return reference[used], sample[used]


def psi(reference: Counts, sample: Counts) -> float:
    """Population stability index, natural logarithm, 0.5 added to each count of the used cells."""
    a, b = used_cells(reference, sample)
    p, q = (a + 0.5) / (a + 0.5).sum(), (b + 0.5) / (b + 0.5).sum()
    return float(((q - p) * np.log(q / p)).sum())


def debiased_psi(reference: Counts, sample: Counts) -> float:
    """PSI minus its mean without drift; may be slightly negative."""
    a, b = used_cells(reference, sample)
    return psi(a, b) - (len(a) - 1) * float(1 / a.sum() + 1 / b.sum())


def psi_floor(reference: Counts, sample: Counts, *, quantile: float = 0.95) -> float:
    """The PSI that chance alone stays below in that share of cases: what these sizes cannot tell from no drift."""
    a, b = used_cells(reference, sample)
    if len(a) < 2:
        return 0.0
    return float((1 / a.sum() + 1 / b.sum()) * chdtri(len(a) - 1, 1 - quantile))


def jensen_shannon(reference: Counts, sample: Counts) -> float:
    """Jensen-Shannon distance, base 2: the square root of the divergence, in [0, 1]."""
    a, b = used_cells(reference, sample)
    p, q = a / a.sum(), b / b.sum()
    middle = (p + q) / 2
    divergence = (_entropy_terms(p, middle) + _entropy_terms(q, middle)) / 2
    return float(np.sqrt(max(divergence, 0.0)))


def _entropy_terms(p: Counts, middle: Counts) -> float:
    some = p > 0
    return float((p[some] * np.log2(p[some] / middle[some])).sum())


def kolmogorov_smirnov(reference: Counts, sample: Counts) -> float:
    """Largest difference of the cumulative shares at cell borders; a lower bound of the distance of the raw values."""
    return float(np.abs(np.cumsum(reference) / reference.sum() - np.cumsum(sample) / sample.sum()).max())


def l_infinity(reference: Counts, sample: Counts) -> float:
    """Largest difference of a cell's share."""
    return float(np.abs(reference / reference.sum() - sample / sample.sum()).max())


def homogeneity_p(reference: Counts, sample: Counts) -> float:
    """p-value of Pearson's chi-square test that both histograms come from one distribution."""
    a, b = used_cells(reference, sample)
    if len(a) < 2:
        return 1.0
    n, m = a.sum(), b.sum()
    statistic = ((np.sqrt(m / n) * a - np.sqrt(n / m) * b) ** 2 / (a + b)).sum()
    return float(chdtrc(len(a) - 1, statistic))


def group_sums(counts: Counts, groups: Any) -> Counts:
    """Counts of shape [cells] summed by group number, shape [largest group + 1]."""
    return np.bincount(np.asarray(groups), weights=counts).astype(np.float64)
