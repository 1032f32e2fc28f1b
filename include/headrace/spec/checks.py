"""The checks a user can declare, each with a stable identity, a severity and bounds that are validated at the door.

A check is a question to a profile, never to rows. Its identity is made of its kind and its subject (`drift.distance`), so
that results, incidents and history match by identity and survive a reordering of the declaration. A metric that does not
apply to a column's kind is refused here: a distance that is silently zero for ever guards nothing.

Which column kinds exist and how checks meet their columns is decided in `headrace.spec.quality`. Standard library only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

from headrace.spec.errors import check

Severity = Literal["info", "warning", "critical"]
"""From least to most severe. `critical` blocks a promotion, `warning` flags it, `info` is only shown."""

Metric = Literal["psi", "js", "ks", "linf"]
"""Distances between two histograms on the same bins: population stability index, Jensen-Shannon distance (base 2),
Kolmogorov-Smirnov on bins (ordered values only), largest difference of a share."""

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
DEFAULT_GATES: Final[dict[Metric, tuple[float, float]]] = {
    # (warn, fail); a shift of a normal variable by 0.3 and 0.5 standard deviations, by each metric
    "psi": (0.10, 0.25),
    "js": (0.12, 0.20),
    "ks": (0.12, 0.20),
    "linf": (0.05, 0.10),
}


def is_number(value: object) -> bool:
    """A finite int or float; booleans and NaN are not numbers here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_share(declaration: str, field: str, value: object) -> None:
    """A share of rows, closed interval [0, 1]."""
    ok = is_number(value) and 0 <= value <= 1  # type: ignore[operator]  # is_number has established the type
    check(ok, declaration, field, value, "a share between 0 and 1, both included")


def check_count(declaration: str, field: str, value: object, *, minimum: int = 0) -> None:
    """A whole number of rows."""
    ok = isinstance(value, int) and not isinstance(value, bool) and value >= minimum
    check(ok, declaration, field, value, f"a whole number, at least {minimum}")


def check_severity(declaration: str, value: object) -> None:
    check(value in SEVERITIES, declaration, "severity", value, f"one of {', '.join(SEVERITIES)}")


def check_column(declaration: str, field: str, value: object) -> None:
    check(isinstance(value, str) and value != "", declaration, field, value, "the name of a declared column")


@dataclass(frozen=True, kw_only=True)
class RowCount:
    """Rows in the profile, `minimum <= rows <= maximum`, both included. No upper bound when `maximum` is None."""

    minimum: int = 1
    maximum: int | None = None
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return "row_count"

    def __post_init__(self) -> None:
        check_count("RowCount", "minimum", self.minimum, minimum=1)
        if self.maximum is not None:
            check_count("RowCount", "maximum", self.maximum, minimum=self.minimum)
        check_severity("RowCount", self.severity)


@dataclass(frozen=True, kw_only=True)
class MissingShare:
    """Share of null and NaN values of a column, at most `maximum`."""

    column: str
    maximum: float = 0.0
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"missing_share.{self.column}"

    def __post_init__(self) -> None:
        check_column("MissingShare", "column", self.column)
        check_share(f"MissingShare {self.column}", "maximum", self.maximum)
        check_severity(f"MissingShare {self.column}", self.severity)


@dataclass(frozen=True, kw_only=True)
class InfiniteShare:
    """Share of infinite values of a numeric column, at most `maximum`."""

    column: str
    maximum: float = 0.0
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"infinite_share.{self.column}"

    def __post_init__(self) -> None:
        check_column("InfiniteShare", "column", self.column)
        check_share(f"InfiniteShare {self.column}", "maximum", self.maximum)
        check_severity(f"InfiniteShare {self.column}", self.severity)


@dataclass(frozen=True, kw_only=True)
class Range:
    """Every finite value of a numeric column lies in `[minimum, maximum]`, both included; None leaves a side open.

    A column without any finite value cannot be judged, which is a failure.
    """

    column: str
    minimum: float | None = None
    maximum: float | None = None
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"range.{self.column}"

    def __post_init__(self) -> None:
        who = f"Range {self.column}"
        check_column("Range", "column", self.column)
        check(self.minimum is not None or self.maximum is not None, who, "minimum", None, "at least one of minimum and maximum")
        for field, value in (("minimum", self.minimum), ("maximum", self.maximum)):
            check(value is None or is_number(value), who, field, value, "a finite number or None")
        if self.minimum is not None and self.maximum is not None:
            check(self.minimum <= self.maximum, who, "maximum", self.maximum, f"at least the minimum, {self.minimum}")
        check_severity(who, self.severity)


@dataclass(frozen=True, kw_only=True)
class KnownLevels:
    """Share of a column's values outside its declared levels (or outside true and false), at most `maximum`."""

    column: str
    maximum: float = 0.0
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"known_levels.{self.column}"

    def __post_init__(self) -> None:
        check_column("KnownLevels", "column", self.column)
        check_share(f"KnownLevels {self.column}", "maximum", self.maximum)
        check_severity(f"KnownLevels {self.column}", self.severity)


@dataclass(frozen=True, kw_only=True)
class TopShare:
    """Share of the heaviest single value of a column, at most `maximum`: finds columns that became constant.

    Numeric columns know the values that were heavy in the reference and the declared default; levels are all known.
    """

    column: str
    maximum: float
    severity: Severity = "warning"

    @property
    def id(self) -> str:
        return f"top_share.{self.column}"

    def __post_init__(self) -> None:
        check_column("TopShare", "column", self.column)
        check_share(f"TopShare {self.column}", "maximum", self.maximum)
        check_severity(f"TopShare {self.column}", self.severity)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A column's distribution agrees with the policy's reference profile.

    Fails (or warns) only when the effect passes a gate **and** is significant after Benjamini-Hochberg over all drift tests
    of the policy. Without `metric`: debiased PSI, and for levels and booleans also L-inf, each with its default gates.
    Missing, infinite, default-value, out-of-range and new-level shares are watched too, by `share_warn` and `share_fail`
    (absolute differences of a share).
    """

    column: str
    metric: Metric | None = None
    warn: float | None = None
    fail: float | None = None
    share_warn: float = 0.01
    share_fail: float = 0.05
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"drift.{self.column}" if self.metric is None else f"drift.{self.column}.{self.metric}"

    @property
    def gates(self) -> tuple[float, float]:
        """(warn, fail) of the chosen metric, PSI when none was chosen."""
        warn, fail = DEFAULT_GATES["psi" if self.metric is None else self.metric]
        return (warn if self.warn is None else self.warn, fail if self.fail is None else self.fail)

    def __post_init__(self) -> None:
        who = f"Drift {self.column}"
        check_column("Drift", "column", self.column)
        check(self.metric is None or self.metric in METRICS, who, "metric", self.metric, f"None or one of {', '.join(METRICS)}")
        for field in ("warn", "fail"):
            value = getattr(self, field)
            check(value is None or (is_number(value) and value > 0), who, field, value, "a distance above 0")
        warn, fail = self.gates
        check(warn <= fail, who, "fail", fail, f"at least the warning gate, {warn}")
        for field in ("share_warn", "share_fail"):
            check_share(who, field, getattr(self, field))
        check(self.share_warn <= self.share_fail, who, "share_fail", self.share_fail, f"at least share_warn, {self.share_warn}")
        check_severity(who, self.severity)
