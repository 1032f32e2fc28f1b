"""Figures of the checks that look at one column of the profile alone: missing, infinite, extreme, unknown and dominant values."""

from __future__ import annotations

from typing import Final

from headrace.quality.bins import BooleanBins, ColumnBins, LevelBins, NumericBins
from headrace.quality.exact import rounded
from headrace.quality.measurement import Measurement, Number
from headrace.quality.profile import ColumnProfile
from headrace.spec.quality import Column, InfiniteShare, KnownLevels, MissingShare, Range, TopShare

_EXAMPLES: Final = 5


def measure_missing_share(item: MissingShare, column: ColumnProfile) -> Measurement:
    """Null and NaN values among all."""
    numbers: dict[str, Number] = {"rows": column.rows, "missing": column.missing, "share": column.missing / column.rows}
    return Measurement(id=item.id, kind="MissingShare", column=item.column, numbers=numbers)


def measure_infinite_share(item: InfiniteShare, column: ColumnProfile) -> Measurement:
    """Infinite values among all."""
    numbers: dict[str, Number] = {"rows": column.rows, "infinite": column.infinite, "share": column.infinite / column.rows}
    return Measurement(id=item.id, kind="InfiniteShare", column=item.column, numbers=numbers)


def measure_range(item: Range, column: ColumnProfile) -> Measurement:
    """Smallest and largest finite value, and how the others lie."""
    if column.minimum is None or column.maximum is None:
        problem = f"column {item.column} has no finite value in {column.rows:,} rows, so its range is unknown"
        return Measurement(id=item.id, kind="Range", column=item.column, problem=problem, numbers={"rows": column.rows})
    numbers: dict[str, Number] = {
        "values": column.finite,
        "minimum": rounded(column.minimum),
        "maximum": rounded(column.maximum),
        "mean": column.mean,
        "deviation": column.deviation,
    }
    return Measurement(id=item.id, kind="Range", column=item.column, numbers=numbers)


def measure_known_levels(
    item: KnownLevels, column: ColumnProfile, declared: Column | None, frozen: ColumnBins | None
) -> Measurement:
    """Values outside the declared levels; `frozen` are the reference's bins of the column, which must know the same levels."""
    if column.finite == 0:
        problem = f"column {item.column} has no value in {column.rows:,} rows, so its levels are unknown"
        return Measurement(id=item.id, kind="KnownLevels", column=item.column, problem=problem, numbers={"rows": column.rows})
    if isinstance(frozen, LevelBins) and declared is not None and frozen.known != tuple(sorted(declared.levels or ())):
        problem = f"the reference was built when column {item.column} had other declared levels"
        return Measurement(id=item.id, kind="KnownLevels", column=item.column, problem=problem, structural=True)
    unknown = column.pooled[-1]
    examples = ", ".join(level for level, _ in column.new_levels[:_EXAMPLES]) or None
    numbers: dict[str, Number] = {
        "values": column.finite,
        "unknown": unknown,
        "share": unknown / column.finite,
        "examples": examples,
    }
    return Measurement(id=item.id, kind="KnownLevels", column=item.column, numbers=numbers)


def measure_top_share(item: TopShare, column: ColumnProfile, bins: ColumnBins | None) -> Measurement:
    """The value that most rows have; `bins` are those the column was counted on."""
    value, count = _heaviest(column, bins)
    if count is None:
        problem = f"column {item.column} has too many distinct levels to count without a reference profile"
        return Measurement(id=item.id, kind="TopShare", column=item.column, problem=problem, numbers={"rows": column.rows})
    numbers: dict[str, Number] = {"rows": column.rows, "top": count, "share": count / column.rows, "value": value}
    return Measurement(id=item.id, kind="TopShare", column=item.column, numbers=numbers)


def _heaviest(column: ColumnProfile, bins: ColumnBins | None) -> tuple[str, int | None]:
    """(the value, its rows); rows None when they are unknown. Missing counts as a value too."""
    candidates: list[tuple[int, str]] = [(column.missing, "missing")]
    if column.minimum is not None and column.minimum == column.maximum:
        candidates.append((column.finite, f"{float(column.minimum):.6g}"))
    if isinstance(bins, NumericBins):
        texts = enumerate(zip(column.pooled, bins.texts(), strict=True))
        candidates += [(count, text) for i, (count, text) in texts if bins.is_point(i)]
    elif bins is not None:
        candidates += [*zip(column.pooled, bins.texts(), strict=True)][: None if isinstance(bins, BooleanBins) else -2]
    elif column.kind == "categorical":
        if column.free_levels is None:
            return "", None
        candidates += [(count, level) for level, count in column.free_levels]
    count, value = max(candidates, key=lambda item: (item[0], item[1]))
    return value.removeprefix("= "), count
