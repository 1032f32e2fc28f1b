"""Turn a policy's checks and a profile into numbers: one measurement per declared check, and two that nobody has to declare.

Nothing is decided here. What cannot be measured is said so, with the reason; the decision that this is a failure belongs to
the gates. A column that vanished, or changed its type, is a structural problem of every check that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from headrace.quality.bins import Bins, BooleanBins, bins_of
from headrace.quality.column_measure import (
    measure_infinite_share,
    measure_known_levels,
    measure_missing_share,
    measure_range,
    measure_top_share,
)
from headrace.quality.drift import measure_drift
from headrace.quality.evidence import Evidence
from headrace.quality.label_measure import measure_maturity, measure_parity, measure_prevalence, measure_selection
from headrace.quality.listed import measure_listed
from headrace.quality.measurement import Measurement, Number
from headrace.quality.profile import Profile
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
    return measure_missing_share(item, profile.columns[item.column])


def _infinite_share(item: InfiniteShare, profile: Profile, _given: _Given) -> Measurement:
    return measure_infinite_share(item, profile.columns[item.column])


def _range(item: Range, profile: Profile, _given: _Given) -> Measurement:
    return measure_range(item, profile.columns[item.column])


def _known_levels(item: KnownLevels, profile: Profile, given: _Given) -> Measurement:
    bins = None if given.reference is None else given.reference.bins.columns.get(item.column)
    return measure_known_levels(item, profile.columns[item.column], given.columns.get(item.column), bins)


def _top_share(item: TopShare, profile: Profile, given: _Given) -> Measurement:
    declared = given.columns.get(item.column)
    frozen = Bins(columns={}) if given.reference is None else given.reference.bins
    return measure_top_share(item, profile.columns[item.column], None if declared is None else bins_of(declared, frozen))


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
