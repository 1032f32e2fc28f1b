"""The gate of a drift check: the histogram as a whole, then each watched share; the worst of them rules."""

from __future__ import annotations

from typing import Final

from headrace.quality.ruling import STATES, Bounds, Gate, Numbers, Ruling, State, percent, sentence, worst

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
_METRIC_TEXTS: Final = {"psi": "PSI", "psi_debiased": "PSI", "js": "JS", "ks": "KS", "linf": "L-inf"}


def _drift(numbers: Numbers, bounds: Bounds) -> Ruling:
    distance, state, reason = _shape(numbers, bounds)
    found = [(state, reason)] if reason else []
    found += [alarm for name in _SHARES if (alarm := _share_alarm(name, numbers, bounds)) is not None]
    found.sort(key=lambda item: -STATES.index(item[0]))
    return Ruling(
        state=worst(item for item, _ in found),
        observed=distance,
        expected=DRIFT.expected(bounds),
        reason=" ".join(text for _, text in found),
    )


def _shape(numbers: Numbers, bounds: Bounds) -> tuple[str, State, str]:
    """(the distance in words, its state, why) of the histogram as a whole."""
    metrics = _gated_metrics(numbers, bounds)
    told = ", ".join(f"{_METRIC_TEXTS[name]} {max(value, 0.0):.3f}" for name, value, _, _ in metrics)
    significant = numbers["shape_q"] <= bounds["false_discovery_rate"]
    state: State = "ok"
    if significant:
        state = worst(_level(value, warn, fail) for _, value, warn, fail in metrics)
        usual = numbers.get("usual")
        if state != "ok" and usual is not None and numbers["psi_debiased"] <= usual:
            return told, "ok", f"{told} is far from the reference, but days like this one usually are (PSI up to {usual:.3f})."
    elif numbers["psi_floor"] > bounds["psi_warn"]:
        floor = f"{numbers['psi_floor']:.2f}"
        rows = f"{numbers['sample_rows']:,.0f} against {numbers['reference_rows']:,.0f} rows"
        return told, "insufficient", f"Too few rows ({rows}): chance alone reaches a PSI of {floor}."
    return told, state, f"The distribution moved: {_beyond(metrics)}." if state != "ok" else ""


def _beyond(metrics: list[tuple[str, float, float, float]]) -> str:
    """Each value that is beyond a gate, and which."""
    found = [(name, value, *((fail, "fails") if value > fail else (warn, "warns"))) for name, value, warn, fail in metrics]
    told = (
        f"{_METRIC_TEXTS[name]} {value:.3f}, where more than {gate:.3g} {effect}"
        for name, value, gate, effect in found
        if value > gate
    )
    return "; ".join(told)


def _gated_metrics(numbers: Numbers, bounds: Bounds) -> list[tuple[str, float, float, float]]:
    """(name, value, warn, fail) of each metric that decides."""
    metric, warn, fail = bounds["metric"], bounds["warn"], bounds["fail"]
    if metric is not None and metric != "psi":
        return [(metric, numbers[metric], warn, fail)]
    chosen = [("psi_debiased", numbers["psi_debiased"], warn, fail)]
    if metric is None and numbers["kind"] != "numeric":
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
    levels = numbers.get(f"{name}_levels")
    told = sentence(_SHARES[name])[:-1]
    return state, f"{told}: {percent(before)} before, {percent(after)} now{f' ({levels})' if levels else ''}."


DRIFT = Gate(
    judge=_drift,
    needed=("psi", "psi_debiased", "psi_floor", "js", "linf", "shape_q", "reference_rows", "sample_rows"),
    expected=lambda b: f"{_METRIC_TEXTS.get(b['metric'] or '', 'PSI')} up to {b['warn']:.3g} (fails above {b['fail']:.3g})",
)
