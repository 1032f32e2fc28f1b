"""The gate of an expectation a user listed: what was asked, of how many rows, and what that cannot say."""

from __future__ import annotations

from headrace.quality.ruling import Bounds, Gate, Numbers, Ruling, percent
from headrace.spec.expectation import FORMS

_SEEN_THRICE: float = 3.0  # what is in 3 of n rows is missed by n draws once in twenty


def _listed(numbers: Numbers, bounds: Bounds) -> Ruling:
    form, held = FORMS[bounds["expectation"]], numbers["success"] == 1
    part, observed, expected = numbers["rows"] < numbers["of"], _observed(numbers), LISTED.expected(bounds)
    looked = f"{numbers['rows']:,} of {numbers['of']:,} rows"
    if part and form.answer != "each row" and (held or not form.disproof):
        reason = f"Only all rows together can answer this, and {looked} were looked at."
        return Ruling(state="insufficient", observed=observed, expected=expected, reason=reason)
    if held:
        rare = percent(min(1.0, _SEEN_THRICE / numbers["rows"]))
        reason = f"Asked of {looked}; what is in fewer than {rare} of them may have been missed." if part else ""
        return Ruling(state="ok", observed=observed, expected=expected, reason=reason)
    examples = f" ({numbers['examples']})" if numbers.get("examples") else ""
    reason = f"{observed[:1].upper()}{observed[1:]}{examples}{f', asked of {looked}' if part else ''}."
    return Ruling(state="failed", observed=observed, expected=expected, reason=reason)


def _observed(numbers: Numbers) -> str:
    values, unexpected = numbers.get("values"), numbers.get("unexpected")
    if values is not None and unexpected is not None and values > 0:
        return f"{unexpected:,} of {values:,} values not as expected ({percent(unexpected / values)})"
    return f"observed {numbers['observed']}" if numbers.get("observed") is not None else "as asked"


def _expected(bounds: Bounds) -> str:
    asked = bounds["expectation"].removeprefix("expect_").replace("_", " ")
    told = ", ".join(f"{name} {_text(value)}" for name, value in bounds["parameters"])
    return f"{asked}{f': {told}' if told else ''}"


def _text(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


LISTED = Gate(judge=_listed, needed=("rows", "of", "success"), expected=_expected)
