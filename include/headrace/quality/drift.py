"""How far a column's profile is from the reference's: one set of numbers from one pair of histograms.

Where rows were sampled on purpose, strata are weighted back to the population first; otherwise every feature correlated with
the label would "drift". Significance then uses effective rows by the first-order Rao-Scott correction (Rao and Scott 1984):
the variance of each weighted share is linearised, and `n = (B - 1) / sum(Var_b / p_b)` is the unweighted sample size with the
same noise. Kish's effective size would mislead, because the weights follow the label.

Missing and infinite values are cells of the histogram, so a column that loses its values drifts even when the rest keeps its
shape. Rows are taken as independent; many rows per entity make every test too sure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.quality.bins import ColumnBins, LevelBins, NumericBins
from headrace.quality.distance import (
    debiased_psi,
    group_sums,
    homogeneity_p,
    jensen_shannon,
    kolmogorov_smirnov,
    l_infinity,
    psi,
    psi_floor,
)
from headrace.quality.measurement import Histogram, Number
from headrace.quality.profile import ColumnProfile
from headrace.quality.proportions import two_share_p

_SHOWN_LEVELS: Final = 5
_MISSING: Final = "(missing)"
_INFINITE: Final = "(infinite)"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side's histogram: effective counts and rows; `counts.sum() == rows`. Missing and infinite are the last two cells."""

    counts: Floats
    rows: float

    @property
    def shares(self) -> Floats:
        return self.counts / self.rows


def side_of(column: ColumnProfile, weights: tuple[float, ...]) -> Side | None:
    """The column's histogram in population terms, scaled to effective rows; None without any weighted row."""
    specials = np.asarray(column.specials, np.float64)
    ends = np.stack([specials[:, 0] + specials[:, 1], specials[:, 2] + specials[:, 3]], axis=1)
    strata = np.concatenate([np.asarray(column.counts, np.float64).reshape(len(column.counts), -1), ends], axis=1)
    if len(weights) == 1:
        rows = float(strata.sum())
        return Side(counts=strata[0], rows=rows) if rows else None
    return _weighted(strata, np.asarray(weights))


def _weighted(strata: Floats, weights: Floats) -> Side | None:
    total = float(weights @ strata.sum(axis=1))
    if total == 0:
        return None
    shares = weights @ strata / total
    inside, outside = strata, strata.sum(axis=1, keepdims=True) - strata
    variances = (weights**2 @ (inside * (1 - shares) ** 2 + outside * shares**2)) / total**2
    some = shares > 0
    noise = float((variances[some] / shares[some]).sum())
    kept = float(strata[weights > 0].sum())
    rows = (int(some.sum()) - 1) / noise if noise > 0 else kept
    return Side(counts=shares * rows, rows=rows)


@dataclass(frozen=True, kw_only=True)
class ColumnDrift:
    numbers: dict[str, Number]
    tests: dict[str, float]
    histogram: Histogram


def measure_drift(
    reference: ColumnProfile,
    sample: ColumnProfile,
    bins: ColumnBins,
    *,
    weights: tuple[tuple[float, ...], tuple[float, ...]],
    default: float | str | None = None,
) -> ColumnDrift | None:
    """Every number of one column; None when a side has no rows. `weights` are those of the reference and of the sample."""
    first, second = side_of(reference, weights[0]), side_of(sample, weights[1])
    if first is None or second is None:
        return None
    a, b = _joined(first.counts, bins), _joined(second.counts, bins)
    numbers: dict[str, Number] = {
        "reference_rows": first.rows,
        "sample_rows": second.rows,
        "psi": psi(a, b),
        "psi_debiased": debiased_psi(a, b),
        "psi_floor": psi_floor(a, b),
        "js": jensen_shannon(a, b),
        "linf": l_infinity(a, b),
        "ks": _ks(a, b) if isinstance(bins, NumericBins) else None,
        "shape_p": homogeneity_p(a, b),
        "mean_shift_deviations": _mean_shift(reference, sample),
    }
    tests = {"shape": float(numbers["shape_p"] or 0.0)}
    for name, cells in _watched(bins, default).items():
        shares, tests[name] = _compare_share(name, cells, first, second)
        numbers |= shares
    if isinstance(bins, LevelBins):
        _vanished(bins, first, second, numbers, tests)
        numbers["new_levels"] = ", ".join(level for level, _ in sample.new_levels[:_SHOWN_LEVELS]) or None
    texts = (*bins.texts(), _MISSING, _INFINITE)
    histogram = Histogram(cells=texts, reference=tuple(first.counts.tolist()), sample=tuple(second.counts.tolist()))
    return ColumnDrift(numbers=numbers, tests=tests, histogram=histogram)


def _joined(counts: Floats, bins: ColumnBins) -> Floats:
    """Counts per group of cells: outer cells joined to their neighbours; missing and infinite stay apart, last."""
    if not isinstance(bins, NumericBins):
        return counts
    inner = bins.cells
    return np.concatenate([group_sums(counts[:inner], bins.groups), counts[inner:]])


def _ks(a: Floats, b: Floats) -> float | None:
    # Missing and infinite have no place in an order.
    a, b = a[:-2], b[:-2]
    return kolmogorov_smirnov(a, b) if a.sum() and b.sum() else None


def _watched(bins: ColumnBins, default: float | str | None) -> dict[str, list[int]]:
    """Cells whose share is tested by itself, by name."""
    missing = bins.cells
    watched = {"missing": [missing]}
    if isinstance(bins, NumericBins):
        watched |= {"infinite": [missing + 1], "out_of_range": [0, bins.cells - 1]}
        point = bins.point_of(float(default)) if default is not None else None
        return watched if point is None else watched | {"default": [point]}
    if isinstance(bins, LevelBins):
        watched["new"] = [bins.cells - 1]
        return watched | {"default": [bins.tracked.index(str(default))]} if default in bins.tracked else watched
    return watched | {"new": [bins.cells - 1]}


def _compare_share(name: str, cells: list[int], first: Side, second: Side) -> tuple[dict[str, Number], float]:
    """(numbers, p-value) of the share that some cells hold together."""
    before, after = float(first.counts[cells].sum()), float(second.counts[cells].sum())
    numbers: dict[str, Number] = {
        f"{name}_reference": before / first.rows,
        f"{name}_sample": after / second.rows,
        f"{name}_rows": max(before, after),
    }
    return numbers, two_share_p(before, first.rows, after, second.rows)


def _vanished(bins: LevelBins, first: Side, second: Side, numbers: dict[str, Number], tests: dict[str, float]) -> None:
    """Tracked levels that the reference had and the sample has not; tested by the largest of them."""
    gone = [i for i in range(len(bins.tracked)) if first.counts[i] > 0 and second.counts[i] == 0]
    gone.sort(key=lambda i: (-first.counts[i], bins.tracked[i]))
    numbers["vanished_reference"] = float(first.counts[gone].sum()) / first.rows
    numbers["vanished_sample"] = 0.0
    numbers["vanished_rows"] = float(first.counts[gone].sum())
    numbers["vanished_levels"] = ", ".join(bins.tracked[i] for i in gone[:_SHOWN_LEVELS]) or None
    tests["vanished"] = two_share_p(float(first.counts[gone[0]]), first.rows, 0.0, second.rows) if gone else 1.0


def _mean_shift(reference: ColumnProfile, sample: ColumnProfile) -> float | None:
    """Difference of unweighted means in the reference's standard deviations."""
    before, after, deviation = reference.mean, sample.mean, reference.deviation
    if before is None or after is None or not deviation:
        return None
    return (after - before) / deviation
