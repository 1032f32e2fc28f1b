"""Decide: numbers and bounds in, a ruling out. Pure, without any library, so a ruling can be recomputed by hand.

A difference is an alarm only when it is both large enough to matter and too large for chance; too few rows to tell is a
ruling of its own, `insufficient`, and never a pass by silence. A number that is missing or NaN fails with a reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

State = Literal["ok", "insufficient", "warning", "failed", "not run"]

Numbers = Mapping[str, Any]
Bounds = Mapping[str, Any]

_RATIO: Final = 2.0  # a share that at least doubles, in at least _RATIO_ROWS rows, is a warning however small
_RATIO_ROWS: Final = 50
_SHARES: Final = {
    "missing": "missing values",
    "infinite": "infinite values",
    "default": "the declared default value",
    "out_of_range": "values outside the reference's range",
    "new": "levels the reference never had",
    "vanished": "levels that are gone",
}


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """A state with the sentence that justifies it. `reason` is empty only when the state is `ok` without remark."""

    state: State
    observed: str
    expected: str
    reason: str = ""


def rule(kind: str, numbers: Numbers, bounds: Bounds) -> Ruling:
    """The ruling on one check. A check kind without a gate, or a missing number, is a failure with a reason."""
    problem = numbers.get("problem")
    expected = _expected(kind, bounds)
    if isinstance(problem, str):
        return Ruling(state="failed", observed="not measurable", expected=expected, reason=_sentence(problem))
    gate = _GATES.get(kind)
    if gate is None:
        return Ruling(state="failed", observed="not judged", expected=expected, reason=f"No gate is known for {kind}.")
    broken = sorted(name for name in _NEEDED[kind] if not _is_number(numbers.get(name)))
    if broken:
        return Ruling(state="failed", observed="not a number", expected=expected, reason=f"No number for {', '.join(broken)}.")
    return gate(numbers, bounds)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def percent(share: float) -> str:
    """`0.433 %`: three significant digits, never an exponent."""
    value = 100 * share
    if value == 0:
        return "0 %"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 6)}f} %"


def _expected(kind: str, bounds: Bounds) -> str:
    writer = _EXPECTED.get(kind)
    return "" if writer is None else writer(bounds)


def _passing(numbers: Numbers, _bounds: Bounds) -> Ruling:
    rows = numbers.get("columns")
    observed = "equal" if rows is None else f"{rows:,} columns, all there"
    return Ruling(state="ok", observed=observed, expected=_expected("Schema" if rows is not None else "FeatureCode", {}))


def _row_count(numbers: Numbers, bounds: Bounds) -> Ruling:
    rows, low, high = numbers["rows"], bounds["minimum"], bounds["maximum"]
    ok = low <= rows and (high is None or rows <= high)
    reason = "" if ok else f"{rows:,} rows are {'too few' if rows < low else 'too many'}."
    return Ruling(
        state="ok" if ok else "failed", observed=f"{rows:,} rows", expected=_expected("RowCount", bounds), reason=reason
    )


def _share_at_most(what: str, kind: str) -> Callable[[Numbers, Bounds], Ruling]:
    def gate(numbers: Numbers, bounds: Bounds) -> Ruling:
        share = numbers["share"]
        ok = share <= bounds["maximum"]
        named = next((f" ({numbers[key]})" for key in ("examples", "value") if numbers.get(key)), "")
        reason = "" if ok else f"{percent(share)} {what}{named}, where at most {percent(bounds['maximum'])} is allowed."
        return Ruling(state="ok" if ok else "failed", observed=percent(share), expected=_expected(kind, bounds), reason=reason)

    return gate


def _range(numbers: Numbers, bounds: Bounds) -> Ruling:
    low, high = bounds["minimum"], bounds["maximum"]
    under = low is not None and numbers["minimum"] < low
    over = high is not None and numbers["maximum"] > high
    parts = [f"the smallest value {numbers['minimum']:.6g} is below {low:.6g}"] if under else []
    parts += [f"the largest value {numbers['maximum']:.6g} is above {high:.6g}"] if over else []
    return Ruling(
        state="failed" if parts else "ok",
        observed=f"{numbers['minimum']:.6g} to {numbers['maximum']:.6g}",
        expected=_expected("Range", bounds),
        reason=_sentence(" and ".join(parts)) if parts else "",
    )


def _prevalence(numbers: Numbers, bounds: Bounds) -> Ruling:
    ratio, gate = numbers["odds_ratio"], bounds["max_odds_ratio"]
    significant = numbers["p_value"] < bounds["alpha"]
    large = not 1 / gate <= ratio <= gate
    wide = numbers["odds_ratio_low"] < 1 / gate and numbers["odds_ratio_high"] > gate
    observed = f"{percent(numbers['corrected'])} ({percent(numbers['corrected_low'])} to {percent(numbers['corrected_high'])})"
    low, high = percent(numbers["reference_low"]), percent(numbers["reference_high"])
    expected = f"{percent(numbers['reference'])} ({low} to {high}), odds within a factor {gate:.3g}"
    told = f"{percent(numbers['corrected'])} against {percent(numbers['reference'])} in the reference, odds {ratio:.3g} times as high"
    told += f" (p = {numbers['p_value']:.2g})"
    state: State = "ok"
    reason = ""
    if large and significant:
        state, reason = "failed", f"Prevalence {told}."
    elif significant:
        reason = f"A real but small difference: prevalence {told}."
    elif wide:
        state = "insufficient"
        reason = f"Too few rows: only odds {numbers['detectable_ratio']:.3g} times higher or lower would be noticed."
    return Ruling(state=state, observed=observed, expected=expected, reason=reason)


def _drift(numbers: Numbers, bounds: Bounds) -> Ruling:
    distance, state, reason = _shape(numbers, bounds)
    found = [(state, reason)] if reason else []
    found += [alarm for name in _SHARES if (alarm := _share_alarm(name, numbers, bounds)) is not None]
    worst = max((item for item, _ in found), key=_ORDER.index, default=state)
    found.sort(key=lambda item: -_ORDER.index(item[0]))
    return Ruling(
        state=worst,
        observed=distance,
        expected=_expected("Drift", bounds),
        reason=" ".join(text for _, text in found),
    )


def _shape(numbers: Numbers, bounds: Bounds) -> tuple[str, State, str]:
    """(the distance in words, its state, why) of the histogram as a whole."""
    metrics = _gated_metrics(numbers, bounds)
    told = ", ".join(f"{_METRIC_TEXTS[name]} {max(value, 0.0):.3f}" for name, value, _, _ in metrics)
    significant = numbers["shape_q"] <= bounds["false_discovery_rate"]
    state: State = "ok"
    if significant:
        state = max((_level(value, warn, fail) for _, value, warn, fail in metrics), key=_ORDER.index)
    elif numbers["psi_floor"] > bounds["warn"]:
        floor = f"{numbers['psi_floor']:.2f}"
        rows = f"{numbers['sample_rows']:,.0f} against {numbers['reference_rows']:,.0f} rows"
        return told, "insufficient", f"Too few rows ({rows}): chance alone reaches a PSI of {floor}."
    return told, state, f"The distribution moved: {told}." if state != "ok" else ""


def _gated_metrics(numbers: Numbers, bounds: Bounds) -> list[tuple[str, float, float, float]]:
    """(name, value, warn, fail) of each metric that decides."""
    warn, fail = bounds["warn"], bounds["fail"]
    if bounds["metric"] is not None and bounds["metric"] != "psi":
        return [(bounds["metric"], numbers[bounds["metric"]], warn, fail)]
    chosen = [("psi_debiased", numbers["psi_debiased"], warn, fail)]
    if bounds["metric"] is None and numbers.get("ks") is None:
        chosen.append(("linf", numbers["linf"], bounds["linf_warn"], bounds["linf_fail"]))
    return chosen


def _level(value: float, warn: float, fail: float) -> State:
    return "failed" if value > fail else "warning" if value > warn else "ok"


def _share_alarm(name: str, numbers: Numbers, bounds: Bounds) -> tuple[State, str] | None:
    before, after = numbers.get(f"{name}_reference"), numbers.get(f"{name}_sample")
    q_value = numbers.get(f"{name}_q")
    if before is None or after is None or q_value is None or q_value > bounds["false_discovery_rate"]:
        return None
    change = abs(after - before)
    doubled = max(after, before) >= _RATIO * min(after, before) and numbers[f"{name}_rows"] >= _RATIO_ROWS
    if change < bounds["share_warn"] and not doubled:
        return None
    state: State = "failed" if change >= bounds["share_fail"] else "warning"
    listed = numbers.get(f"{name}_levels")
    return (
        state,
        f"{_sentence(_SHARES[name])[:-1]}: {percent(before)} before, {percent(after)} now{f' ({listed})' if listed else ''}.",
    )


def _bound(value: float | None, text: str) -> str:
    return "" if value is None else f"{text} {value:.6g}"


_ORDER: Final[tuple[State, ...]] = ("ok", "insufficient", "warning", "failed", "not run")
_METRIC_TEXTS: Final = {"psi_debiased": "PSI", "js": "JS", "ks": "KS", "linf": "L-inf"}
_GATES: Final[Mapping[str, Callable[[Numbers, Bounds], Ruling]]] = {
    "Schema": _passing,
    "FeatureCode": _passing,
    "RowCount": _row_count,
    "MissingShare": _share_at_most("missing", "MissingShare"),
    "InfiniteShare": _share_at_most("infinite", "InfiniteShare"),
    "Range": _range,
    "KnownLevels": _share_at_most("outside the declared levels", "KnownLevels"),
    "TopShare": _share_at_most("are one value", "TopShare"),
    "Prevalence": _prevalence,
    "Drift": _drift,
}
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "Schema": ("columns",),
    "FeatureCode": ("rows",),
    "RowCount": ("rows",),
    "MissingShare": ("share",),
    "InfiniteShare": ("share",),
    "Range": ("minimum", "maximum"),
    "KnownLevels": ("share",),
    "TopShare": ("share",),
    "Prevalence": ("odds_ratio", "odds_ratio_low", "odds_ratio_high", "p_value", "corrected", "reference", "detectable_ratio"),
    "Drift": ("psi", "psi_debiased", "psi_floor", "js", "linf", "shape_q", "reference_rows", "sample_rows"),
}
_EXPECTED: Final[Mapping[str, Callable[[Bounds], str]]] = {
    "Schema": lambda _: "every declared column once, of its declared kind",
    "FeatureCode": lambda _: "the reference's feature code and bins",
    "RowCount": lambda b: f"at least {b['minimum']:,} rows" + ("" if b["maximum"] is None else f" and at most {b['maximum']:,}"),
    "MissingShare": lambda b: f"at most {percent(b['maximum'])} missing",
    "InfiniteShare": lambda b: f"at most {percent(b['maximum'])} infinite",
    "Range": lambda b: " and ".join(filter(None, [_bound(b["minimum"], "at least"), _bound(b["maximum"], "at most")])),
    "KnownLevels": lambda b: f"at most {percent(b['maximum'])} outside the declared levels",
    "TopShare": lambda b: f"at most {percent(b['maximum'])} in one value",
    "Prevalence": lambda b: f"odds within a factor {b['max_odds_ratio']:.3g} of the reference",
    "Drift": lambda b: f"{_METRIC_TEXTS.get(b['metric'] or '', 'PSI')} up to {b['warn']:.3g} (fails above {b['fail']:.3g})",
}
