"""Turn a policy's checks and a profile into numbers: one measurement per declared check, and two that nobody has to declare.

Nothing is decided here. What cannot be measured is said so, with the reason; the decision that this is a failure belongs to
the gates. A column that vanished, or changed its type, is a structural problem of every check that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.quality.bins import Bins, BooleanBins, ColumnBins, LevelBins, NumericBins, bins_of
from headrace.quality.drift import measure_drift
from headrace.quality.evidence import Evidence
from headrace.quality.exact import rounded
from headrace.quality.label_measure import measure_maturity, measure_parity, measure_prevalence, measure_selection
from headrace.quality.listed import measure_listed
from headrace.quality.measurement import Measurement, Number
from headrace.quality.profile import ColumnProfile, Profile
from headrace.quality.reference import Reference
from headrace.quality.segments import SegmentPair
from headrace.spec.live import Parity
from headrace.spec.quality import (
    LABEL_CHECKS,
    Check,
    Column,
    Drift,
    Expect,
    InfiniteShare,
    KnownLevels,
    Maturity,
    MissingShare,
    Prevalence,
    QualityPolicy,
    Range,
    RowCount,
    Sampling,
    Selection,
    TopShare,
)

_SHOWN: Final = 5


@dataclass(frozen=True, kw_only=True)
class _Given:
    """What a check may need beside the profile."""

    columns: dict[str, Column]
    sampling: Sampling | None
    reference: Reference | None
    evidence: Evidence


def measure(profile: Profile, policy: QualityPolicy, reference: Reference | None, evidence: Evidence) -> list[Measurement]:
    """Schema, feature code (when there is a reference), then every declared check, in the declared order."""
    automatic = [_schema(profile, policy)]
    if reference is not None:
        automatic.append(_feature_code(profile, reference))
    columns = {column.name: column for column in policy.columns}
    given = _Given(columns=columns, sampling=policy.sampling, reference=reference, evidence=evidence)
    return automatic + [_measured(item, profile, given) for item in policy.checks]


def measure_live(
    policy: QualityPolicy,
    reference: Reference | None,
    evidence: Evidence,
    *,
    parity: Sequence[Parity],
    segments: Mapping[str, SegmentPair],
) -> list[Measurement]:
    """Served values, then every drift check again within each segment, as `<check>@<column>=<level>`."""
    found = [measure_parity(item, evidence) for item in parity]
    columns = {column.name: column for column in policy.columns}
    for name, pair in segments.items():
        if reference is None:
            break  # the checks themselves say so
        beside = _Given(
            columns=columns,
            sampling=policy.sampling,
            reference=Reference(bins=reference.bins, profile=pair.training),
            evidence=evidence,
        )
        drifts = (item for item in policy.checks if isinstance(item, Drift))
        measured = [(segment_check(item.id, name), _measured(item, pair.live, beside)) for item in drifts]
        found += [replace(item, id=identity) for identity, item in measured]
    return found


def segment_check(check: str, segment: str) -> str:
    """The identity of a check within a segment."""
    return f"{check}@{segment}"


def _schema(profile: Profile, policy: QualityPolicy) -> Measurement:
    found = [problem for column in policy.columns if (problem := _column_problem(column.name, profile)) is not None]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    problem = "; ".join(found[:_SHOWN]) + more if found else None
    numbers: dict[str, Number] = {"columns": len(policy.columns), "faulty": len(found)}
    return Measurement(id="schema", kind="Schema", numbers=numbers, problem=problem, structural=True)


def _column_problem(name: str, profile: Profile) -> str | None:
    column = profile.columns.get(name)
    if column is None:
        return f"column {name} was not profiled"
    if column.absent:
        how = "there twice or more" if column.types else "absent"
        return f"column {name} is {how} in {column.absent:,} rows"
    if column.mistyped:
        return f"column {name} has type {', '.join(sorted(column.types))} where {column.kind} is declared, in {column.mistyped:,} rows"
    if column.kind == "boolean" and column.pooled[2]:
        return f"column {name} holds {column.pooled[2]:,} values that are neither 0 nor 1"
    return None


def _feature_code(profile: Profile, reference: Reference) -> Measurement:
    return Measurement(
        id="feature_code",
        kind="FeatureCode",
        numbers={"rows": profile.rows},
        problem=_code_problem(profile, reference),
        structural=True,
    )


def _code_problem(profile: Profile, reference: Reference) -> str | None:
    ours, theirs = profile.code_fingerprint, reference.profile.code_fingerprint
    if ours != theirs:
        return f"the reference was computed by other feature code ({theirs[:12]}) than this data ({ours[:12]})"
    if profile.bins_digest != reference.profile.bins_digest:
        return "this data was not counted on the bins of the reference"
    return None


def _measured(item: Check, profile: Profile, given: _Given) -> Measurement:
    kind = type(item).__name__
    column = None if isinstance(item, RowCount) else item.label if isinstance(item, LABEL_CHECKS) else item.column
    problem, structural = _obstacle(item, column, profile, given.reference)
    if problem is not None:
        return Measurement(
            id=item.id, kind=kind, column=column, problem=problem, structural=structural, numbers={"rows": profile.rows}
        )
    try:
        return _MEASURES[type(item)](item, profile, given)
    except (ArithmeticError, ValueError, LookupError) as error:
        # One check that cannot be computed must not lose the others; it fails with this reason.
        problem = f"could not be computed: {type(error).__name__}: {error}"
        return Measurement(id=item.id, kind=kind, column=column, problem=problem, numbers={"rows": profile.rows})


def _obstacle(item: Check, column: str | None, profile: Profile, reference: Reference | None) -> tuple[str | None, bool]:
    """(why the check cannot be measured or None, whether that is structural)."""
    if profile.rows == 0:
        return "the data has no rows", False
    for name in item.columns if isinstance(item, Expect) else () if column is None else (column,):
        if (problem := _column_problem(name, profile)) is not None:
            return problem, True
    needs_reference = isinstance(item, Drift) or (isinstance(item, Prevalence) and item.reference is None)
    if needs_reference and reference is None:
        return "the reference profile was not given", False
    if needs_reference and reference is not None and (problem := _code_problem(profile, reference)) is not None:
        return problem, True
    return None, False


def _row_count(item: RowCount, profile: Profile, _given: _Given) -> Measurement:
    return Measurement(id=item.id, kind="RowCount", numbers={"rows": profile.rows})


def _missing_share(item: MissingShare, profile: Profile, _given: _Given) -> Measurement:
    column = profile.columns[item.column]
    numbers: dict[str, Number] = {"rows": column.rows, "missing": column.missing, "share": column.missing / column.rows}
    return Measurement(id=item.id, kind="MissingShare", column=item.column, numbers=numbers)


def _infinite_share(item: InfiniteShare, profile: Profile, _given: _Given) -> Measurement:
    column = profile.columns[item.column]
    numbers: dict[str, Number] = {"rows": column.rows, "infinite": column.infinite, "share": column.infinite / column.rows}
    return Measurement(id=item.id, kind="InfiniteShare", column=item.column, numbers=numbers)


def _range(item: Range, profile: Profile, _given: _Given) -> Measurement:
    column = profile.columns[item.column]
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


def _known_levels(item: KnownLevels, profile: Profile, given: _Given) -> Measurement:
    column = profile.columns[item.column]
    if column.finite == 0:
        problem = f"column {item.column} has no value in {column.rows:,} rows, so its levels are unknown"
        return Measurement(id=item.id, kind="KnownLevels", column=item.column, problem=problem, numbers={"rows": column.rows})
    declared, reference = given.columns.get(item.column), given.reference
    bins = None if reference is None else reference.bins.columns.get(item.column)
    if isinstance(bins, LevelBins) and declared is not None and bins.known != tuple(sorted(declared.levels or ())):
        problem = f"the reference was built when column {item.column} had other declared levels"
        return Measurement(id=item.id, kind="KnownLevels", column=item.column, problem=problem, structural=True)
    unknown = column.pooled[-1]
    examples = ", ".join(level for level, _ in column.new_levels[:_SHOWN]) or None
    numbers: dict[str, Number] = {
        "values": column.finite,
        "unknown": unknown,
        "share": unknown / column.finite,
        "examples": examples,
    }
    return Measurement(id=item.id, kind="KnownLevels", column=item.column, numbers=numbers)


def _top_share(item: TopShare, profile: Profile, given: _Given) -> Measurement:
    column = profile.columns[item.column]
    declared, reference = given.columns.get(item.column), given.reference
    frozen = Bins(columns={}) if reference is None else reference.bins
    value, count = _heaviest(column, None if declared is None else bins_of(declared, frozen))
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
        candidates += [
            (count, text) for i, (count, text) in enumerate(zip(column.pooled, bins.texts(), strict=True)) if bins.is_point(i)
        ]
    elif bins is not None:
        candidates += [*zip(column.pooled, bins.texts(), strict=True)][: None if isinstance(bins, BooleanBins) else -2]
    elif column.kind == "categorical":
        if column.free_levels is None:
            return "", None
        candidates += [(count, level) for level, count in column.free_levels]
    count, value = max(candidates, key=lambda item: (item[0], item[1]))
    return value.removeprefix("= "), count


def _prevalence(item: Prevalence, profile: Profile, given: _Given) -> Measurement:
    return measure_prevalence(item, profile, given.sampling, given.reference)


def _maturity(item: Maturity, _profile: Profile, given: _Given) -> Measurement:
    return measure_maturity(item, given.evidence)


def _selection(item: Selection, _profile: Profile, given: _Given) -> Measurement:
    return measure_selection(item, given.evidence)


def _listed(item: Expect, profile: Profile, given: _Given) -> Measurement:
    return measure_listed(item, profile, given.evidence.listed, given.evidence.problems)


def _drift(item: Drift, profile: Profile, given: _Given) -> Measurement:
    declared, reference = given.columns.get(item.column), given.reference
    if reference is None or declared is None or item.column not in reference.profile.columns:
        problem = f"the reference profile has no column {item.column}"
        return Measurement(id=item.id, kind="Drift", column=item.column, problem=problem, structural=True)
    bins = BooleanBins() if declared.kind == "boolean" else reference.bins.columns[item.column]
    found = measure_drift(
        reference.profile.columns[item.column],
        profile.columns[item.column],
        bins,
        weights=(reference.profile.weights, profile.weights),
        default=declared.default,
    )
    if found is None:
        problem = "no rows left after undoing the sampling: every row is unlabelled"
        return Measurement(id=item.id, kind="Drift", column=item.column, problem=problem, numbers={"rows": profile.rows})
    return Measurement(
        id=item.id,
        kind="Drift",
        column=item.column,
        numbers={"kind": declared.kind, **found.numbers},
        tests=found.tests,
        histogram=found.histogram,
    )


_MEASURES: Final[Mapping[type, Callable[[Any, Profile, _Given], Measurement]]] = {
    RowCount: _row_count,
    MissingShare: _missing_share,
    InfiniteShare: _infinite_share,
    Range: _range,
    KnownLevels: _known_levels,
    TopShare: _top_share,
    Prevalence: _prevalence,
    Maturity: _maturity,
    Selection: _selection,
    Drift: _drift,
    Expect: _listed,
}
