"""Decide: numbers and bounds in, a ruling out. Pure, without any library, so a ruling can be recomputed by hand.

A difference is an alarm only when it is both large enough to matter and too large for chance; too few rows to tell is a
ruling of its own, `insufficient`, and never a pass by silence. A number that is missing or NaN fails with a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.quality.drift_gate import DRIFT
from headrace.quality.label_gates import MATURITY, PREVALENCE, SELECTION
from headrace.quality.listed_gate import LISTED
from headrace.quality.ruling import Bounds, Gate, Numbers, Ruling, is_figure, percent, sentence


def rule(kind: str, numbers: Numbers, bounds: Bounds) -> Ruling:
    """The ruling on one check. A check kind without a gate, or a missing number, is a failure with a reason."""
    gate = _GATES.get(kind)
    if gate is None:
        return Ruling(state="failed", observed="not judged", expected="", reason=f"No gate is known for {kind}.")
    problem = numbers.get("problem")
    if isinstance(problem, str):
        return Ruling(state="failed", observed=gate.unmet(numbers), expected=gate.expected(bounds), reason=sentence(problem))
    broken = sorted(name for name in gate.needed if not is_figure(numbers.get(name)))
    if broken:
        reason = f"No number for {', '.join(broken)}."
        return Ruling(state="failed", observed="not a number", expected=gate.expected(bounds), reason=reason)
    return gate.judge(numbers, bounds)


def _schema(numbers: Numbers, bounds: Bounds) -> Ruling:
    return Ruling(state="ok", observed=f"{numbers['columns']:,} columns, all there", expected=_SCHEMA.expected(bounds))


def _feature_code(_numbers: Numbers, bounds: Bounds) -> Ruling:
    return Ruling(state="ok", observed="equal", expected=_FEATURE_CODE.expected(bounds))


def _row_count(numbers: Numbers, bounds: Bounds) -> Ruling:
    rows, low, high = numbers["rows"], bounds["minimum"], bounds["maximum"]
    ok = low <= rows and (high is None or rows <= high)
    reason = "" if ok else f"{rows:,} rows are {'too few' if rows < low else 'too many'}."
    return Ruling(state="ok" if ok else "failed", observed=f"{rows:,} rows", expected=_ROW_COUNT.expected(bounds), reason=reason)


def _range(numbers: Numbers, bounds: Bounds) -> Ruling:
    low, high = bounds["minimum"], bounds["maximum"]
    under = low is not None and numbers["minimum"] < low
    over = high is not None and numbers["maximum"] > high
    parts = [f"the smallest value {numbers['minimum']:.6g} is below {low:.6g}"] if under else []
    parts += [f"the largest value {numbers['maximum']:.6g} is above {high:.6g}"] if over else []
    return Ruling(
        state="failed" if parts else "ok",
        observed=f"{numbers['minimum']:.6g} to {numbers['maximum']:.6g}",
        expected=_RANGE.expected(bounds),
        reason=sentence(" and ".join(parts)) if parts else "",
    )


def _range_expected(bounds: Bounds) -> str:
    sides = (("at least", bounds["minimum"]), ("at most", bounds["maximum"]))
    return " and ".join(f"{text} {value:.6g}" for text, value in sides if value is not None)


def _row_count_expected(bounds: Bounds) -> str:
    maximum = bounds["maximum"]
    rows = "row" if bounds["minimum"] == 1 else "rows"
    return f"at least {bounds['minimum']:,} {rows}" + ("" if maximum is None else f" and at most {maximum:,}")


def _share_gate(what: str) -> Gate:
    """The gate of a share that may be at most `maximum`."""

    def expected(bounds: Bounds) -> str:
        return f"at most {percent(bounds['maximum'])} {what}"

    def judge(numbers: Numbers, bounds: Bounds) -> Ruling:
        share = numbers["share"]
        ok = share <= bounds["maximum"]
        named = next((f" ({numbers[key]})" for key in ("examples", "value") if numbers.get(key)), "")
        reason = "" if ok else f"{percent(share)} {what}{named}, where at most {percent(bounds['maximum'])} is allowed."
        return Ruling(state="ok" if ok else "failed", observed=percent(share), expected=expected(bounds), reason=reason)

    return Gate(judge=judge, needed=("share",), expected=expected)


_SCHEMA: Final = Gate(
    judge=_schema,
    needed=("columns",),
    expected=lambda _: "every declared column once, of its declared kind",
    unmet=lambda numbers: f"{numbers['faulty']:,} of {numbers['columns']:,} columns wrong",
)
_FEATURE_CODE: Final = Gate(
    judge=_feature_code,
    needed=("rows",),
    expected=lambda _: "the reference's feature code and bins",
    unmet=lambda _: "different",
)
_ROW_COUNT: Final = Gate(judge=_row_count, needed=("rows",), expected=_row_count_expected)
_RANGE: Final = Gate(judge=_range, needed=("minimum", "maximum"), expected=_range_expected)
_GATES: Final[Mapping[str, Gate]] = {
    "Schema": _SCHEMA,
    "FeatureCode": _FEATURE_CODE,
    "RowCount": _ROW_COUNT,
    "MissingShare": _share_gate("missing"),
    "InfiniteShare": _share_gate("infinite"),
    "Range": _RANGE,
    "KnownLevels": _share_gate("outside the declared levels"),
    "TopShare": _share_gate("in one value"),
    "Prevalence": PREVALENCE,
    "Maturity": MATURITY,
    "Selection": SELECTION,
    "Drift": DRIFT,
    "Expect": LISTED,
    "Parity": _share_gate("of the served values differ from the recomputed ones"),
}
