"""Gates of a label: prevalence against a reference, maturity, and selection by an earlier decision."""

from __future__ import annotations

from headrace.quality.ruling import Bounds, Gate, Numbers, Ruling, State, percent, probability, sentence


def _prevalence(numbers: Numbers, bounds: Bounds) -> Ruling:
    ratio, gate = numbers["odds_ratio"], bounds["max_odds_ratio"]
    significant = numbers["p_value"] < bounds["alpha"]
    large = not 1 / gate <= ratio <= gate
    # By its width alone: where it lies would call the estimates nearest to 1 unknown, and those further off in order.
    wide = numbers["odds_ratio_high"] > gate**2 * numbers["odds_ratio_low"]
    told = f"{percent(numbers['corrected'])} against {percent(numbers['reference'])} in the reference, odds {ratio:.3g} times as high"
    told += f" ({probability(numbers['p_value'])})"
    state: State = "ok"
    reason = ""
    if large and significant:
        state, reason = "failed", f"Prevalence {told}."
    elif significant:
        reason = f"A real but small difference: prevalence {told}."
    elif wide:
        state = "insufficient"
        reason = f"Too few rows: only odds {numbers['detectable_ratio']:.3g} times higher or lower would be noticed."
    low, high = percent(numbers["reference_low"]), percent(numbers["reference_high"])
    return Ruling(
        state=state,
        observed=f"{percent(numbers['corrected'])} ({percent(numbers['corrected_low'])} to {percent(numbers['corrected_high'])})",
        expected=f"{percent(numbers['reference'])} ({low} to {high}), odds within a factor {gate:.3g}",
        reason=reason,
    )


PREVALENCE = Gate(
    judge=_prevalence,
    needed=("odds_ratio", "odds_ratio_low", "odds_ratio_high", "p_value", "corrected", "reference", "detectable_ratio"),
    expected=lambda bounds: f"odds within a factor {bounds['max_odds_ratio']:.3g} of the reference",
)


def _maturity(numbers: Numbers, bounds: Bounds) -> Ruling:
    faults = [
        (numbers["before_event"], "labels are known before their event"),
        (numbers["after_as_of"], "labels are known only after the as-of instant"),
        (numbers["immature_negative"], "rows are called negative before they are old enough"),
    ]
    found = [f"{count:,} {what}" for count, what in faults if count]
    if numbers["share"] > bounds["maximum_immature"]:
        found.append(f"{percent(numbers['share'])} of the rows are too young for a final label")
    state: State = "failed" if found else "ok"
    complete = numbers.get("completeness")
    if not found and complete is not None and complete < bounds["minimum_completeness"]:
        state = "warning"
        found = [f"at the horizon only {percent(complete)} of the labels have arrived"]
    return Ruling(
        state=state,
        observed=f"{percent(numbers['share'])} immature",
        expected=MATURITY.expected(bounds),
        reason=sentence("; ".join(found)) if found else "",
    )


MATURITY = Gate(
    judge=_maturity,
    needed=("share", "immature_negative", "before_event", "after_as_of"),
    expected=lambda bounds: (
        f"at most {percent(bounds['maximum_immature'])} immature, {percent(bounds['minimum_completeness'])} complete at the horizon"
    ),
)


def _selection(numbers: Numbers, bounds: Bounds) -> Ruling:
    parts = []
    if numbers["blind_share"] > 0:
        parts.append(f"no label at all for {percent(numbers['blind_share'])} of the rows ({numbers.get('blind', '')})")
    if numbers.get("unlike") is not None:
        parts.append(f"labels are not released as declared: {numbers['unlike']}")
    unequal = numbers["difference"] > bounds["maximum_difference"] and numbers["p_value"] < bounds["alpha"]
    if unequal and not bounds["release"]:
        low, high = (
            f"{numbers['lowest']} {percent(numbers['lowest_coverage'])}",
            f"{numbers['highest']} {percent(numbers['highest_coverage'])}",
        )
        parts.append(f"labels depend on the earlier decision: {low} labelled, {high}")
    if parts:
        parts.append(f"prevalence lies somewhere between {percent(numbers['low'])} and {percent(numbers['high'])}")
    return Ruling(
        state="failed" if parts else "ok",
        observed=f"coverage {percent(numbers['lowest_coverage'])} to {percent(numbers['highest_coverage'])}",
        expected=SELECTION.expected(bounds),
        reason=sentence("; ".join(parts)) if parts else release_in_words(numbers),
    )


def release_in_words(numbers: Numbers) -> str:
    """What the declared release says of everybody; nothing without one."""
    if numbers.get("released") is None:
        return ""
    return (
        f"By the declared release the prevalence of everybody is {percent(numbers['released'])} "
        f"({percent(numbers['released_low'])} to {percent(numbers['released_high'])}), from weights up to {numbers['largest_weight']:.3g}, "
        f"{numbers['effective_rows']:,.0f} effective rows."
    )


def _selection_expected(bounds: Bounds) -> str:
    if bounds["release"]:
        return "labels released as declared: " + ", ".join(f"{name} {percent(rate)}" for name, rate in bounds["release"])
    return f"coverage of all decisions within {percent(bounds['maximum_difference'])} points"


SELECTION = Gate(
    judge=_selection,
    needed=("blind_share", "difference", "p_value", "lowest_coverage", "highest_coverage", "low", "high"),
    expected=_selection_expected,
)
