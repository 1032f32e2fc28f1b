"""Numbers of the label checks: prevalence from the profile, maturity and selection from the evidence."""

from __future__ import annotations

from typing import Final

from headrace.quality.evidence import Evidence
from headrace.quality.label_lag import Completeness, completeness, lag_prevalence
from headrace.quality.measurement import Histogram, Measurement, Number
from headrace.quality.prevalence import LabelCounts, compare_prevalence, undo_sampling
from headrace.quality.profile import ColumnProfile, Profile
from headrace.quality.proportions import share_interval
from headrace.quality.reference import Reference
from headrace.quality.ruling import percent
from headrace.quality.selection import SelectionCounts, audit_selection, released_prevalence, unlike_release
from headrace.spec.live import Parity
from headrace.spec.quality import Maturity, Prevalence, Sampling, Selection

_SHOWN: Final = 5
_DRAWN_AGES: Final = 40
_FEWEST_AGES: Final = 4


def measure_prevalence(item: Prevalence, profile: Profile, sampling: Sampling | None, reference: Reference | None) -> Measurement:
    training, base = _label_counts(profile.columns[item.label]), _reference_counts(item, reference)
    problem = _prevalence_problem(item, training, base, reference)
    if problem is not None:
        return Measurement(id=item.id, kind="Prevalence", column=item.label, problem=problem, numbers={"rows": profile.rows})
    keep = {"keep_positive": 1.0, "keep_negative": 1.0}
    if sampling is not None:
        keep = {"keep_positive": sampling.keep_positive, "keep_negative": sampling.keep_negative}
    numbers = {"unlabelled": profile.columns[item.label].missing, **keep, **_prevalence_numbers(item, training, base, keep)}
    return Measurement(id=item.id, kind="Prevalence", column=item.label, numbers=numbers)


def _prevalence_numbers(item: Prevalence, training: LabelCounts, base: LabelCounts, keep: dict[str, float]) -> dict[str, Number]:
    """Both shares with their intervals, the training share without the sampling by label, and how they compare."""
    test = compare_prevalence(training, base, alpha=item.alpha, **keep)
    low, high, method = share_interval(training.positives, training.labelled)
    base_low, base_high, base_method = share_interval(base.positives, base.labelled)
    return {
        "positives": training.positives,
        "labelled": training.labelled,
        "raw": training.share,
        "corrected": test.corrected,
        "corrected_low": undo_sampling(low, **keep),
        "corrected_high": undo_sampling(high, **keep),
        "interval": method,
        "reference_positives": base.positives,
        "reference_labelled": base.labelled,
        "reference": base.share,
        "reference_low": base_low,
        "reference_high": base_high,
        "reference_interval": base_method,
        "odds_ratio": test.odds_ratio,
        "odds_ratio_low": test.low,
        "odds_ratio_high": test.high,
        "p_value": test.p_value,
        "detectable_ratio": test.detectable,
        "method": test.method,
    }


def _prevalence_problem(item: Prevalence, training: LabelCounts, base: LabelCounts, reference: Reference | None) -> str | None:
    if training.labelled == 0 or base.labelled == 0:
        return f"no labelled rows in the {'data' if training.labelled == 0 else 'reference'}"
    if item.reference is None and reference is not None and reference.profile.sampling is not None:
        return "the reference profile is itself a sample by label; declare a PrevalenceReference"
    return None


def _label_counts(column: ColumnProfile) -> LabelCounts:
    negatives, positives, _other = column.pooled
    return LabelCounts(positives=positives, labelled=negatives + positives)


def _reference_counts(item: Prevalence, reference: Reference | None) -> LabelCounts:
    if item.reference is not None:
        return LabelCounts(positives=item.reference.positives, labelled=item.reference.labelled)
    if reference is None or item.label not in reference.profile.columns:
        return LabelCounts(positives=0, labelled=0)
    return _label_counts(reference.profile.columns[item.label])


def measure_maturity(item: Maturity, evidence: Evidence) -> Measurement:
    counts = evidence.lag.get(item.label)
    if counts is None or counts.rows == 0:
        absent = evidence.problems.get(item.id, "label lag was not counted for this data")
        problem = absent if counts is None else "label lag was counted over no rows"
        return Measurement(id=item.id, kind="Maturity", column=item.label, problem=problem)
    curve, prevalence = completeness(counts), lag_prevalence(counts)
    numbers: dict[str, Number] = {
        "rows": counts.rows,
        "horizon": counts.horizon,
        "unit_seconds": int(counts.unit.total_seconds()),
        "immature": counts.immature,
        "share": counts.immature / counts.rows,
        "immature_negative": counts.immature_negative,
        "before_event": counts.before_event,
        "after_as_of": counts.after_as_of,
        # Delays are rounded down, so the labels known by the horizon are those up to one unit before it.
        "completeness": None if curve is None else curve.at(counts.horizon - 1),
        "mean_delay": None if curve is None else curve.mean_delay,
        "naive_prevalence": None if prevalence is None else prevalence.naive,
        "completed_prevalence": None if prevalence is None else prevalence.corrected,
        "completed_low": None if prevalence is None else prevalence.low,
        "completed_high": None if prevalence is None else prevalence.high,
    }
    drawn = None if curve is None else _drawn(curve, counts.horizon)
    return Measurement(id=item.id, kind="Maturity", column=item.label, numbers=numbers, histogram=drawn)


def _drawn(curve: Completeness, horizon: int) -> Histogram | None:
    """The curve at up to about forty ages, from 0 to beyond the horizon; None when it has no shape at this grain."""
    last = min(max(len(curve.shares) - 1, horizon), 2 * horizon)
    ages = range(0, last + 1, max(1, last // _DRAWN_AGES))
    if len(ages) < _FEWEST_AGES:
        return None
    return Histogram(
        cells=tuple(str(age) for age in ages),
        reference=tuple(curve.at(age) for age in ages),
        sample=tuple(curve.margins[age] if age < len(curve.margins) else 0.0 for age in ages),
    )


def measure_selection(item: Selection, evidence: Evidence) -> Measurement:
    counts = evidence.selection.get(item.label)
    audit = None if counts is None else audit_selection(counts, blind_share=item.blind_share)
    if counts is None or audit is None:
        absent = evidence.problems.get(item.id, "selection was not counted for this data")
        problem = absent if counts is None else "selection was counted over no rows"
        return Measurement(id=item.id, kind="Selection", column=item.label, problem=problem)
    numbers: dict[str, Number] = {
        "rows": counts.total.rows,
        "labelled": counts.total.labelled,
        "lowest": audit.lowest[0],
        "lowest_coverage": audit.lowest[1],
        "highest": audit.highest[0],
        "highest_coverage": audit.highest[1],
        "difference": audit.highest[1] - audit.lowest[1],
        "p_value": audit.p_value,
        "blind_share": sum(share for _, share in audit.blind),
        "blind": ", ".join(
            decision if band == "all" else f"{decision}, score {band}" for (decision, band), _ in audit.blind[:_SHOWN]
        ),
        "labelled_prevalence": audit.labelled_prevalence,
        "low": audit.low,
        "high": audit.high,
        **(_release_numbers(item, counts) if item.release else {}),
    }
    decisions = counts.decisions
    histogram = Histogram(
        cells=tuple(decisions),
        reference=tuple(float(group.rows) for group in decisions.values()),
        sample=tuple(float(group.labelled) for group in decisions.values()),
    )
    return Measurement(id=item.id, kind="Selection", column=item.label, numbers=numbers, histogram=histogram)


def _release_numbers(item: Selection, counts: SelectionCounts) -> dict[str, Number]:
    """What the declared release makes of the counts. Raises CorrectionError for a decision without a probability or a label."""
    release = dict(item.release)
    found = released_prevalence(counts, release)
    unlike = unlike_release(counts, release, maximum_difference=item.maximum_difference, alpha=item.alpha)
    told = "; ".join(f"{name} {percent(coverage)} labelled, {percent(rate)} declared" for name, coverage, rate in unlike)
    return {
        "unlike": told or None,
        "released": found.share.value,
        "released_low": found.share.low,
        "released_high": found.share.high,
        "largest_weight": found.largest_weight,
        "effective_rows": found.effective_rows,
    }


def measure_parity(item: Parity, evidence: Evidence) -> Measurement:
    """The share of live rows whose served value is not the recomputed one."""
    counts = evidence.parity.get(item.column)
    if counts is None or counts.rows == 0:
        absent = evidence.problems.get(item.id, "served values were not compared for this data")
        problem = absent if counts is None else "served values were compared over no rows"
        return Measurement(id=item.id, kind="Parity", column=item.column, problem=problem)
    numbers: dict[str, Number] = {
        "rows": counts.rows,
        "different": counts.different,
        "share": counts.different / counts.rows,
        "examples": "; ".join(counts.examples) or None,
    }
    return Measurement(id=item.id, kind="Parity", column=item.column, numbers=numbers)
