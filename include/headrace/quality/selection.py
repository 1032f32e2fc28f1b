"""Does a label's existence depend on an earlier decision? The surest way for label skew to hide.

If only approved, reviewed or delivered cases get a label, prevalence among the labelled is prevalence among what somebody
already chose (0.20 % where the truth is 0.50 % in the worked case), and no statistic of the labelled rows can tell. So every
row carries its decision, and coverage is compared between decisions and score bands.

A band without any label is not identifiable: no weighting can speak for it. A known random release is: weigh by one over its
probability. With an unknown selection only bounds are honest, and they are what this module gives; it corrects nothing then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import chdtrc

from headrace.quality.correction import Share, weighted_share, weights_from
from headrace.quality.errors import CorrectionError

UNKNOWN: Final = "(unknown)"
ALL_BANDS: Final = "all"
_RATE_FACTOR: Final = 1.25

Cell = tuple[str, str]
"""(decision, score band)."""


@dataclass(frozen=True, kw_only=True)
class CellCounts:
    rows: int = 0
    labelled: int = 0
    positives: int = 0

    @property
    def coverage(self) -> float:
        return self.labelled / self.rows if self.rows else 0.0

    @property
    def prevalence(self) -> float | None:
        """Among the labelled; None without any."""
        return self.positives / self.labelled if self.labelled else None

    def __add__(self, other: CellCounts) -> CellCounts:
        return CellCounts(
            rows=self.rows + other.rows, labelled=self.labelled + other.labelled, positives=self.positives + other.positives
        )


@dataclass(frozen=True, kw_only=True)
class SelectionCounts:
    """Rows, labels and positives by decision and score band. Merges by addition."""

    cells: dict[Cell, CellCounts] = field(default_factory=dict)

    @property
    def total(self) -> CellCounts:
        return sum(self.cells.values(), CellCounts())

    @property
    def decisions(self) -> dict[str, CellCounts]:
        found: dict[str, CellCounts] = {}
        for (decision, _), counts in self.cells.items():
            found[decision] = found.get(decision, CellCounts()) + counts
        return found


def count_selection(
    table: pa.Table, *, decision: str, label: str, score: str | None = None, edges: tuple[float, ...] = ()
) -> SelectionCounts:
    """Counts of a table with a text decision, a nullable boolean label, and optionally a score cut at `edges`.

    Bands are half-open, `[e[i], e[i + 1])`; a missing decision or score is `(unknown)`, a group of its own.
    """
    texts: Any = pc.cast(table[decision], pa.string())
    known: Any = pc.is_valid(table[label])
    positive: Any = pc.fill_null(table[label], pa.scalar(value=False))
    bands = _bands(table[score], edges) if score is not None else pa.array([ALL_BANDS] * table.num_rows, pa.string())
    columns: dict[str, Any] = {
        "decision": pc.fill_null(texts, UNKNOWN),
        "band": bands,
        "labelled": pc.cast(known, pa.int64()),
        "positive": pc.cast(positive, pa.int64()),
    }
    grouped = pa.table(columns).group_by(["decision", "band"])
    counted = grouped.aggregate([("labelled", "count"), ("labelled", "sum"), ("positive", "sum")])
    cells = {
        (str(row["decision"]), str(row["band"])): CellCounts(
            rows=row["labelled_count"], labelled=row["labelled_sum"], positives=row["positive_sum"]
        )
        for row in counted.to_pylist()
    }
    return SelectionCounts(cells=dict(sorted(cells.items())))


def _bands(score: Any, edges: tuple[float, ...]) -> pa.Array[Any]:
    values = pc.cast(score, pa.float64()).to_numpy(zero_copy_only=False)
    names = [f"below {edges[0]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(edges)), f"from {edges[-1]:g}"]
    at = np.searchsorted(np.asarray(edges), values, side="right")
    return pa.array([UNKNOWN if np.isnan(value) else names[i] for value, i in zip(values, at, strict=True)], pa.string())


def merge_selection(first: SelectionCounts, second: SelectionCounts) -> SelectionCounts:
    """Both tables' counts."""
    keys = sorted({*first.cells, *second.cells})
    return SelectionCounts(cells={k: first.cells.get(k, CellCounts()) + second.cells.get(k, CellCounts()) for k in keys})


@dataclass(frozen=True, kw_only=True)
class SelectionAudit:
    """What coverage says.

    Attributes:
        lowest, highest: the decisions with the least and the most coverage, with their coverage.
        p_value: chi-square test of equal coverage over decisions; 1 with a single decision.
        blind: cells without any label that hold more than the given share of rows, with that share.
        low, high: bounds of the prevalence, every unlabelled row negative, then positive.
    """

    lowest: tuple[str, float]
    highest: tuple[str, float]
    p_value: float
    blind: tuple[tuple[Cell, float], ...]
    labelled_prevalence: float | None
    low: float
    high: float


def audit_selection(counts: SelectionCounts, *, blind_share: float = 0.01) -> SelectionAudit | None:
    """Compare coverage between decisions; None without rows."""
    total = counts.total
    if total.rows == 0:
        return None
    ranked = sorted(counts.decisions.items(), key=lambda item: (item[1].coverage, item[0]))
    blind = tuple(
        (cell, item.rows / total.rows)
        for cell, item in counts.cells.items()
        if item.labelled == 0 and item.rows > blind_share * total.rows
    )
    return SelectionAudit(
        lowest=(ranked[0][0], ranked[0][1].coverage),
        highest=(ranked[-1][0], ranked[-1][1].coverage),
        p_value=_equal_coverage_p(counts),
        blind=blind,
        labelled_prevalence=total.prevalence,
        low=total.positives / total.rows,
        high=(total.positives + total.rows - total.labelled) / total.rows,
    )


def _equal_coverage_p(counts: SelectionCounts) -> float:
    total = counts.total
    groups = list(counts.decisions.values())
    share = total.labelled / total.rows
    if len(groups) < 2 or share in (0.0, 1.0):
        return 1.0
    statistic = sum((item.labelled - item.rows * share) ** 2 / (item.rows * share * (1 - share)) for item in groups)
    return float(chdtrc(len(groups) - 1, statistic))


def unlike_release(
    counts: SelectionCounts, release: Mapping[str, float], *, maximum_difference: float, alpha: float
) -> tuple[tuple[str, float, float], ...]:
    """(decision, coverage, declared probability) of decisions whose rows are not labelled with the probability that was declared.

    By more than `maximum_difference` or a factor of 1.25, as a weight that is off by so much counts too; and not by chance.
    """
    found = []
    for decision, item in counts.decisions.items():
        rate = release[decision]
        apart = abs(item.coverage - rate) > maximum_difference or not rate / _RATE_FACTOR <= item.coverage <= rate * _RATE_FACTOR
        deviation = math.sqrt(rate * (1 - rate) / item.rows)
        p_value = math.erfc(abs(item.coverage - rate) / deviation / math.sqrt(2)) if deviation > 0 else 0.0
        if apart and p_value < alpha:
            found.append((decision, item.coverage, rate))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class ReleaseEstimate:
    """Prevalence of everybody from a known random release, with what it cost."""

    share: Share
    largest_weight: float
    effective_rows: float


def released_prevalence(counts: SelectionCounts, release: Mapping[str, float]) -> ReleaseEstimate:
    """Weigh labelled rows by one over the known probability that their decision's rows are released to get a label.

    Raises:
        CorrectionError: a decision without a probability, an impossible one, or a decision without any labelled row.
    """
    rates, labels = [], []
    for decision, item in counts.decisions.items():
        if decision not in release or item.labelled == 0:
            raise CorrectionError(
                f"decision {decision}",
                found="no release probability" if decision not in release else "no labelled row",
                expected="a known probability and labelled rows for every decision",
                remedy="Release a known random share of every decision; without it only bounds are known.",
            )
        rates.append(np.full(item.labelled, release[decision]))
        labels.append(np.repeat([1.0, 0.0], [item.positives, item.labelled - item.positives]))
    weights = weights_from(np.concatenate(rates))
    return ReleaseEstimate(
        share=weighted_share(np.concatenate(labels), weights.raw),
        largest_weight=float(weights.raw.max()),
        effective_rows=weights.effective_rows,
    )
