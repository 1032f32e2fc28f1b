"""A profile: what there is to know about a table's columns without its rows, merged exactly and in any order.

Everything in it is a whole number, an exact fraction, an extreme or a set with a fixed rule, so that
`merge(a, merge(b, c))` and `merge(merge(c, a), b)` are the same bytes, however rows were split. That is what lets a
profile be computed once per shard, while the bytes are in hand, and summed over shards, days and months.

Counts are kept per *stratum* (`negative`, `positive`, `unlabelled`) when rows were sampled on purpose, else in one stratum
`all`; so the sampling is undone at reading time with the designed rates and no weight is ever rounded into a count.

Profiles are only compared or merged when plan, bins and feature code are equal; each carries their digests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from headrace.quality.errors import ProfileError
from headrace.quality.exact import rounded
from headrace.spec.quality import Kind, Sampling

ALL: Final = ("all",)
STRATA: Final = ("negative", "positive", "unlabelled")
SPECIALS: Final = ("null", "nan", "positive_infinity", "negative_infinity")
MAX_NEW_LEVELS: Final = 20
MAX_FREE_LEVELS: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """One column.

    Attributes:
        types: Arrow types seen under that name; more than one when shards differ.
        absent: rows of batches in which the column did not exist, or existed twice.
        mistyped: rows of batches whose Arrow type does not fit the declared kind. Neither sort is counted anywhere else.
        specials: per stratum: null, NaN, +infinity, -infinity.
        counts: per stratum and cell of the frozen bins; no cells when there are none.
        total, squares: exact sums over finite values (numeric only; booleans are not summed).
        minimum, maximum: over finite values, None without any.
        new_levels: the first 20 levels by text that the reference did not know, with their counts: the same 20 in any order.
        free_levels: value counts of a categorical column without frozen bins, None above 1,000 distinct levels.
    """

    kind: Kind
    types: frozenset[str] = frozenset()
    absent: int = 0
    mistyped: int = 0
    specials: tuple[tuple[int, ...], ...]
    counts: tuple[tuple[int, ...], ...]
    total: Fraction = Fraction(0)
    squares: Fraction = Fraction(0)
    minimum: Fraction | None = None
    maximum: Fraction | None = None
    new_levels: tuple[tuple[str, int], ...] = ()
    free_levels: tuple[tuple[str, int], ...] | None = ()
    finite: int = 0

    @property
    def missing(self) -> int:
        """Null and NaN values."""
        return sum(stratum[0] + stratum[1] for stratum in self.specials)

    @property
    def infinite(self) -> int:
        return sum(stratum[2] + stratum[3] for stratum in self.specials)

    @property
    def rows(self) -> int:
        """Rows counted here: missing, infinite and finite values."""
        return self.missing + self.infinite + self.finite

    @property
    def pooled(self) -> tuple[int, ...]:
        """Counts per cell over all strata."""
        return tuple(sum(cell) for cell in zip(*self.counts, strict=True))

    @property
    def mean(self) -> float | None:
        """Mean of finite values, correctly rounded from the exact sum; None without any."""
        return None if self.finite == 0 or self.kind != "numeric" else rounded(self.total / self.finite)

    @property
    def deviation(self) -> float | None:
        """Population standard deviation of finite values; None without any."""
        if self.finite == 0 or self.kind != "numeric":
            return None
        variance = self.squares / self.finite - (self.total / self.finite) ** 2
        number = rounded(max(variance, Fraction(0)))
        return None if number is None else number**0.5


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A table's profile. Equal `identity` is what two profiles need to be merged or compared."""

    plan_digest: str
    bins_digest: str | None
    code_fingerprint: str
    sampling: Sampling | None
    rows: int
    strata: tuple[str, ...]
    stratum_rows: tuple[int, ...]
    columns: dict[str, ColumnProfile] = field(default_factory=dict)

    @property
    def identity(self) -> dict[str, str | None]:
        return {"plan": self.plan_digest, "bins": self.bins_digest, "feature code": self.code_fingerprint}

    @property
    def weights(self) -> tuple[float, ...]:
        """Per stratum, the population rows one kept row stands for; 0 for unlabelled rows of a designed sample."""
        if self.sampling is None:
            return (1.0,)
        return (1.0 / self.sampling.keep_negative, 1.0 / self.sampling.keep_positive, 0.0)


def merge(first: Profile, second: Profile) -> Profile:
    """The profile of both tables together. Raises ProfileError when plan, bins or feature code differ."""
    for what, value in first.identity.items():
        if value != second.identity[what]:
            raise ProfileError(
                f"profiles with different {what}",
                found=f"{value} and {second.identity[what]}",
                expected="one and the same",
                remedy="Profile both tables with the same plan, reference and feature code.",
            )
    return Profile(
        plan_digest=first.plan_digest,
        bins_digest=first.bins_digest,
        code_fingerprint=first.code_fingerprint,
        sampling=first.sampling,
        rows=first.rows + second.rows,
        strata=first.strata,
        stratum_rows=_added(first.stratum_rows, second.stratum_rows),
        columns={name: merge_columns(item, second.columns[name]) for name, item in first.columns.items()},
    )


def merge_columns(first: ColumnProfile, second: ColumnProfile) -> ColumnProfile:
    """Associative and commutative; an empty table's column is the neutral element."""
    return ColumnProfile(
        kind=first.kind,
        types=first.types | second.types,
        absent=first.absent + second.absent,
        mistyped=first.mistyped + second.mistyped,
        specials=_added_rows(first.specials, second.specials),
        counts=_added_rows(first.counts, second.counts),
        total=first.total + second.total,
        squares=first.squares + second.squares,
        minimum=min((v for v in (first.minimum, second.minimum) if v is not None), default=None),
        maximum=max((v for v in (first.maximum, second.maximum) if v is not None), default=None),
        new_levels=_merged_levels(first.new_levels, second.new_levels)[:MAX_NEW_LEVELS],
        free_levels=_merged_free(first.free_levels, second.free_levels),
        finite=first.finite + second.finite,
    )


def _added(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(first, second, strict=True))


def _added_rows(first: tuple[tuple[int, ...], ...], second: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(_added(a, b) for a, b in zip(first, second, strict=True))


def _merged_levels(first: tuple[tuple[str, int], ...], second: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    counts = dict(first)
    for level, count in second:
        counts[level] = counts.get(level, 0) + count
    return tuple(sorted(counts.items()))


def _merged_free(
    first: tuple[tuple[str, int], ...] | None, second: tuple[tuple[str, int], ...] | None
) -> tuple[tuple[str, int], ...] | None:
    # Above the limit stays above the limit: the number of distinct levels only grows, so the outcome has no order.
    if first is None or second is None:
        return None
    merged = _merged_levels(first, second)
    return merged if len(merged) <= MAX_FREE_LEVELS else None
