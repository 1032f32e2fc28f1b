"""What a user declares about the quality of a training set: its columns, how its rows were sampled, its checks.

Kinds are declared, never guessed from data: a 0/1 column read as a number, or a code with 40,000 values read as a
quantity, gives checks that look busy and guard nothing. Everything is validated here, before any data is read.
Standard library only, so that a DAG file may import it at parse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from headrace.spec.checks import (
    Drift,
    InfiniteShare,
    KnownLevels,
    MissingShare,
    Range,
    RowCount,
    Severity,
    TopShare,
    check_share,
    is_number,
)
from headrace.spec.errors import check
from headrace.spec.expectation import Expect, expect
from headrace.spec.label_checks import Maturity, Prevalence, PrevalenceReference, Selection

__all__ = [  # one import line for a declaration file
    "Check",
    "Column",
    "Drift",
    "Expect",
    "InfiniteShare",
    "Kind",
    "KnownLevels",
    "Maturity",
    "MissingShare",
    "Prevalence",
    "PrevalenceReference",
    "ProfilePlan",
    "QualityPolicy",
    "Range",
    "RowCount",
    "Sampling",
    "Selection",
    "Severity",
    "TopShare",
    "expect",
]

Check = (
    RowCount | MissingShare | InfiniteShare | Range | KnownLevels | TopShare | Drift | Prevalence | Maturity | Selection | Expect
)
LABEL_CHECKS: Final = (Prevalence, Maturity, Selection)
Kind = Literal["numeric", "categorical", "boolean"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MAX_LEVELS: Final = 5_000
"""Declared or remembered levels of one column; beyond this a level list is no longer a summary."""

WEIGHT_COLUMNS: Final = ("sample_weight", "sample_weight_normalised")
"""Where `headrace.quality.correct` puts the weights that undo a sampling. They follow from the label, so no feature has these names."""

_METRIC_KINDS: Final[dict[str | None, tuple[Kind, ...]]] = {"ks": ("numeric",), "linf": ("categorical", "boolean")}
"""Kinds a metric applies to; every kind when it is not listed."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column to profile.

    Attributes:
        kind: `numeric` (int, float, decimal), `categorical` (text, integer or boolean codes; each distinct value a level) or
            `boolean` (boolean, or integers that are only 0 and 1).
        default: the value that stands in when the real one is unknown; watched as a bin of its own. None: no default.
        levels: the closed set of levels of a categorical column; None when open.
    """

    name: str
    kind: Kind
    default: float | str | None = None
    levels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        who = f"Column {self.name}"
        check(isinstance(self.name, str) and self.name != "", "Column", "name", self.name, "a column name")
        check(self.kind in KINDS, who, "kind", self.kind, f"one of {', '.join(KINDS)}")
        if self.levels is not None:
            check(self.kind == "categorical", who, "levels", self.levels, f"None for a {self.kind} column")
            texts = isinstance(self.levels, tuple) and all(isinstance(level, str) for level in self.levels)
            check(
                texts and 0 < len(self.levels) <= MAX_LEVELS, who, "levels", self.levels, f"1 to {MAX_LEVELS} texts, as a tuple"
            )
            check(len(set(self.levels)) == len(self.levels), who, "levels", self.levels, "each level once")
        self._check_default(who)

    def _check_default(self, who: str) -> None:
        if self.default is None:
            return
        if self.kind == "numeric":
            check(is_number(self.default), who, "default", self.default, "a finite number for a numeric column")
        elif self.kind == "categorical":
            check(isinstance(self.default, str), who, "default", self.default, "a text for a categorical column")
            closed = self.levels is None or self.default in self.levels
            check(closed, who, "default", self.default, "one of the declared levels")
        else:
            check(self.default is None, who, "default", self.default, "None: both values of a boolean are counted anyway")


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How rows were kept on purpose: positives at `keep_positive`, negatives at `keep_negative`, each in (0, 1].

    Uniformly at random within each class: a keep-rate that depends on the features cannot be undone by two numbers.
    """

    label: str
    keep_positive: float = 1.0
    keep_negative: float = 1.0

    def __post_init__(self) -> None:
        who = f"Sampling {self.label}"
        check(isinstance(self.label, str) and self.label != "", "Sampling", "label", self.label, "the name of a boolean column")
        for field in ("keep_positive", "keep_negative"):
            value = getattr(self, field)
            check(is_number(value) and 0 < value <= 1, who, field, value, "a rate above 0 and at most 1")


@dataclass(frozen=True, kw_only=True)
class ProfilePlan:
    """What a profile counts: columns of declared kinds, and per sampling stratum when rows were kept on purpose."""

    columns: tuple[Column, ...]
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        check(len(self.columns) > 0, "ProfilePlan", "columns", self.columns, "at least one column")
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        check(not repeated, "ProfilePlan", "columns", repeated, "each column once")
        if self.sampling is not None:
            label = self.column(self.sampling.label)
            ok = label is not None and label.kind == "boolean"
            check(ok, "ProfilePlan", "sampling", self.sampling.label, "the name of a declared boolean column")

    def column(self, name: str) -> Column | None:
        """The declared column of that name, None when there is none."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, kw_only=True)
class QualityPolicy:
    """Columns, sampling, checks, and where the frozen reference profile lies.

    Attributes:
        reference: a file with the reference profile, by path from the project's root; needed by `Drift`.
        false_discovery_rate: expected share of false alarms among the alarms of all drift tests together.
    """

    columns: tuple[Column, ...]
    checks: tuple[Check, ...]
    sampling: Sampling | None = None
    reference: str | None = None
    false_discovery_rate: float = 0.05

    @property
    def plan(self) -> ProfilePlan:
        return ProfilePlan(columns=self.columns, sampling=self.sampling)

    def __post_init__(self) -> None:
        plan = self.plan
        check(
            len(self.checks) > 0,
            "QualityPolicy",
            "checks",
            self.checks,
            "at least one check: a gate without checks lets all pass",
        )
        ids = [item.id for item in self.checks]
        repeated = sorted({item for item in ids if ids.count(item) > 1}) if len(set(ids)) < len(ids) else []
        check(not repeated, "QualityPolicy", "checks", repeated, "each check once")
        check_share("QualityPolicy", "false_discovery_rate", self.false_discovery_rate)
        check(self.false_discovery_rate > 0, "QualityPolicy", "false_discovery_rate", self.false_discovery_rate, "above 0")
        kinds = {column.name: column for column in plan.columns}
        for item in self.checks:
            _check_applies(item, kinds, self)


def _check_applies(item: Check, columns: dict[str, Column], policy: QualityPolicy) -> None:
    """Refuse a check that names an undeclared column, or asks what its column's kind cannot answer."""
    if isinstance(item, RowCount):
        return
    if isinstance(item, Expect):
        _check_listed(item, columns)
        return
    name = item.label if isinstance(item, LABEL_CHECKS) else item.column
    who = f"{type(item).__name__} {name}"
    check(name in columns, who, "column", name, f"one of the declared columns: {', '.join(sorted(columns))}")
    kind = columns[name].kind
    allowed: tuple[Kind, ...] = KINDS
    if isinstance(item, (Range, InfiniteShare)):
        allowed = ("numeric",)
    elif isinstance(item, LABEL_CHECKS):
        allowed = ("boolean",)
        if isinstance(item, Prevalence):
            _check_prevalence(item, policy, who)
    elif isinstance(item, KnownLevels):
        allowed = ("categorical", "boolean")
        ok = kind != "categorical" or columns[name].levels is not None
        check(ok, who, "column", name, "a categorical column with declared levels")
    elif isinstance(item, Drift):
        allowed = _METRIC_KINDS.get(item.metric, KINDS)
        what = f"a reference profile, because {item.id} compares with it"
        check(policy.reference is not None, "QualityPolicy", "reference", None, what)
    what = f"a {' or '.join(allowed)} column" + (f" for the metric {item.metric}" if isinstance(item, Drift) else "")
    check(kind in allowed, who, "column", f"{name} ({kind})", what)


def _check_listed(item: Expect, columns: dict[str, Column]) -> None:
    for name in item.columns:
        declared = ", ".join(sorted(columns))
        check(name in columns, item.expectation, "columns", name, f"columns among the declared ones: {declared}")
        kind, kinds = columns[name].kind, item.form.kinds
        check(kind in kinds, item.expectation, "columns", f"{name} ({kind})", f"a {' or '.join(kinds)} column")


def _check_prevalence(item: Prevalence, policy: QualityPolicy, who: str) -> None:
    known = item.reference is not None or policy.reference is not None
    check(known, who, "reference", None, "a PrevalenceReference, or a reference profile in the policy")
    if policy.sampling is not None:
        sampled = policy.sampling.label
        check(sampled == item.label, who, "label", item.label, f"the sampled label {sampled!r}, whose rates are known")
