"""Checks of a label: how frequent it is, whether it is final, and whether an earlier decision chose who gets one.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace.spec.checks import Severity, check_column, check_count, check_severity, check_share, is_number
from headrace.spec.errors import check


@dataclass(frozen=True, kw_only=True)
class PrevalenceReference:
    """What an unbiased sample of the real population said: `positives` of `labelled` rows with a final label."""

    positives: int
    labelled: int

    def __post_init__(self) -> None:
        check_count("PrevalenceReference", "labelled", self.labelled, minimum=1)
        check_count("PrevalenceReference", "positives", self.positives)
        check(
            self.positives <= self.labelled,
            "PrevalenceReference",
            "positives",
            self.positives,
            f"at most the labelled rows, {self.labelled}",
        )


@dataclass(frozen=True, kw_only=True)
class Prevalence:
    """The label's odds, once the known sampling is undone, agree with a reference sample.

    Fails when the ratio of odds lies outside `[1 / max_odds_ratio, max_odds_ratio]` **and** its p-value is below `alpha`.
    Without `reference`, the labels of the policy's reference profile are the reference.
    """

    label: str
    reference: PrevalenceReference | None = None
    max_odds_ratio: float = 1.25
    alpha: float = 0.01
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"prevalence.{self.label}"

    def __post_init__(self) -> None:
        who = f"Prevalence {self.label}"
        check_column("Prevalence", "label", self.label)
        ok = self.reference is None or isinstance(self.reference, PrevalenceReference)
        check(ok, who, "reference", self.reference, "a PrevalenceReference or None")
        ok = is_number(self.max_odds_ratio) and self.max_odds_ratio > 1
        check(ok, who, "max_odds_ratio", self.max_odds_ratio, "a ratio above 1, such as 1.25")
        check(
            is_number(self.alpha) and 0 < self.alpha < 1, who, "alpha", self.alpha, "a probability between 0 and 1, such as 0.01"
        )
        check_severity(who, self.severity)


@dataclass(frozen=True, kw_only=True)
class Maturity:
    """Labels are final: few rows younger than the label's horizon, none of them called negative, none known before its time.

    Judged on label lag counts (`headrace.quality.label_lag`), taken from the rows' `label_time` and `label_known_time` as of the
    instant at which the day's labels are joined.

    Attributes:
        horizon: age from which a row that is not positive may be called negative; None: the label set's declared maturity.
        unit: the grain in which ages and delays are counted; the horizon is a whole number of them.
    """

    label: str
    horizon: timedelta | None = None
    unit: timedelta = timedelta(hours=1)
    maximum_immature: float = 0.0
    minimum_completeness: float = 0.95
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"maturity.{self.label}"

    def __post_init__(self) -> None:
        who = f"Maturity {self.label}"
        check_column("Maturity", "label", self.label)
        positive = (
            isinstance(self.unit, timedelta)
            and self.unit >= timedelta(seconds=1)
            and self.unit % timedelta(seconds=1) == timedelta(0)
        )
        check(positive, who, "unit", self.unit, "whole seconds, at least one")
        if self.horizon is not None:
            whole = isinstance(self.horizon, timedelta) and self.horizon >= self.unit and self.horizon % self.unit == timedelta(0)
            check(whole, who, "horizon", self.horizon, f"a whole number of units of {self.unit}, or None")
        check_share(who, "maximum_immature", self.maximum_immature)
        check_share(who, "minimum_completeness", self.minimum_completeness)
        check_severity(who, self.severity)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Who gets a label does not depend on an earlier decision: equal coverage, and no group of rows without any label.

    Fails on a group above `blind_share` of the rows without one label, or when coverage differs between decisions by more than
    `maximum_difference` and by more than chance. Judged on selection counts (`headrace.quality.selection`).

    Where each decision's rows get a label at random with a known probability, declare it in `release`: then coverage has to be that,
    and the prevalence of everybody is shown, weighed by one over it.

    Attributes:
        decision: the column with the earlier decision.
        score: the column with the score behind it, cut into bands at `edges`; None: no bands.
        release: (decision, probability) for every decision there is, such as `(("approve", 1.0), ("decline", 0.02))`; empty: none is known.
    """

    label: str
    decision: str = "decision"
    score: str | None = None
    edges: tuple[float, ...] = ()
    maximum_difference: float = 0.02
    blind_share: float = 0.01
    alpha: float = 0.01
    release: tuple[tuple[str, float], ...] = ()
    severity: Severity = "critical"

    @property
    def id(self) -> str:
        return f"selection.{self.label}"

    def __post_init__(self) -> None:
        who = f"Selection {self.label}"
        check_column("Selection", "label", self.label)
        check_column(who, "decision", self.decision)
        if self.score is not None:
            check_column(who, "score", self.score)
        ascending = (
            isinstance(self.edges, tuple) and all(map(is_number, self.edges)) and sorted(set(self.edges)) == list(self.edges)
        )
        check(ascending, who, "edges", self.edges, "finite numbers in ascending order, as a tuple")
        check((self.score is None) == (len(self.edges) == 0), who, "edges", self.edges, "edges with a score, none without")
        check_share(who, "maximum_difference", self.maximum_difference)
        check_share(who, "blind_share", self.blind_share)
        check(is_number(self.alpha) and 0 < self.alpha < 1, who, "alpha", self.alpha, "a probability such as 0.01")
        what = 'pairs of a decision, each once, and a probability above 0 and at most 1, such as (("decline", 0.02),)'
        check(isinstance(self.release, tuple) and _are_rates(self.release), who, "release", self.release, what)
        check_severity(who, self.severity)


def _are_rates(pairs: tuple[object, ...]) -> bool:
    whole = [pair for pair in pairs if isinstance(pair, tuple) and len(pair) == 2]
    rates = all(isinstance(name, str) and is_number(rate) and 0 < rate <= 1 for name, rate in whole)
    return len(whole) == len(pairs) and rates and len({name for name, _ in whole}) == len(pairs)
