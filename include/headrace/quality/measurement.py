"""What was measured for one check: numbers, test p-values, the histogram behind them, or why nothing could be measured."""

from __future__ import annotations

from dataclasses import dataclass, field

Number = int | float | str | None
"""A figure, or a short text (a level, a list of levels). None: not applicable."""


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Counts per cell, of equal length; weighted and rescaled to effective rows where rows were sampled on purpose.

    Of a selection check: rows (as reference) and labelled rows (as sample) per decision. Of a maturity check: completeness (as reference)
    and half the width of its 95 % interval (as sample) by age, in the unit of the horizon.
    """

    cells: tuple[str, ...]
    reference: tuple[float, ...]
    sample: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One check's figures.

    Attributes:
        kind: the declaration's class name, e.g. `Drift`; the automatic checks are `Schema` and `FeatureCode`.
        tests: p-values by test name, for the policy's one family of drift tests.
        problem: why nothing could be measured, in a sentence; None when something was.
        structural: the problem is one of schema or code, which is critical whatever severity was declared.
    """

    id: str
    kind: str
    column: str | None = None
    numbers: dict[str, Number] = field(default_factory=dict)
    tests: dict[str, float] = field(default_factory=dict)
    problem: str | None = None
    structural: bool = False
    histogram: Histogram | None = None
