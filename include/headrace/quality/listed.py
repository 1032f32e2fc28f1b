"""The expectations a user listed, asked of a day's rows while they are in hand, and what their answers measure.

At most `rows` rows are looked at, drawn by a hash of their position: evenly, and the same ones whenever the same rows are asked. The
suite is built from the declaration and run in one ephemeral context; what is kept is counts, so the gate judges them later
without a row. An answer holds the digest of the question: a check that was changed since is not answered by the old count.

What a sample cannot answer says so. A share of rows is estimated, and what is too rare to be drawn is named by how rare; a fact about
all rows together (a median, uniqueness) is left open unless all were looked at, or the sample disproves it; a smallest, largest
or mean value is taken from the profile, which is exact at any number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.quality.exact import rounded
from headrace.quality.measurement import Measurement, Number
from headrace.quality.profile import Profile
from headrace.spec.canonical import digest_of
from headrace.spec.expectation import Expect

_EXAMPLES: Final = 5
_LONGEST: Final = 80
_OF_PROFILE: Final = {
    "expect_column_min_to_be_between": "minimum",
    "expect_column_max_to_be_between": "maximum",
    "expect_column_mean_to_be_between": "mean",
}


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What Great Expectations said.

    Attributes:
        asked: digest of the check that was asked.
        rows, of: rows looked at, and rows there were.
        success: whether it held among the rows looked at; None when it could not be run.
        values, unexpected: values asked one by one, and those that were not as expected; None where all are asked together.
        observed, examples: as short texts.
        problem: why it could not be run.
    """

    asked: str
    rows: int
    of: int
    success: bool | None
    values: int | None = None
    unexpected: int | None = None
    observed: str | None = None
    examples: str | None = None
    problem: str | None = None


def ask_rows(rows: pa.Table, checks: Sequence[Expect]) -> dict[str, Answered]:
    """Each check's answer, by its identity. A check that cannot be run has an answer that says why; it takes no other with it."""
    found: dict[str, Answered] = {}
    for bound in sorted({item.rows for item in checks}):
        asked = [item for item in checks if item.rows == bound]
        there = [item for item in asked if set(item.columns) <= set(rows.schema.names)]
        columns = sorted({name for item in there for name in item.columns})
        results = _run(sample(rows.select(columns), bound), there) if there else {}
        for item in asked:
            result = results.get(item.id)
            problem = "Great Expectations returned no result for this check" if item in there else "a column of it is absent"
            found[item.id] = _silent(item, rows, problem) if result is None else _answered(item, rows, result)
    return found


def sample(rows: pa.Table, bound: int) -> pa.Table:
    """All rows, or `bound` of them in their order: those whose position has the smallest hash (SplitMix64)."""
    if rows.num_rows <= bound:
        return rows
    drawn = np.argpartition(_mixed(np.arange(rows.num_rows, dtype=np.uint64)), bound)[:bound]
    return rows.take(np.sort(drawn))


def _mixed(position: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        z = (position + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _run(rows: pa.Table, checks: Sequence[Expect]) -> dict[str, Any]:
    """Results by check identity, which travels in the expectation's notes: results come back in an order of their own."""
    from headrace.quality.expectations import listed_expectation, validate

    results = validate(rows.to_pandas(), [listed_expectation(item) for item in checks])
    return {result.expectation_config.meta["check"]: result for result in results}


def _answered(item: Expect, rows: pa.Table, result: Any) -> Answered:
    from headrace.quality.expectations import exception_text

    details = result.result or {}
    if "element_count" not in details and "observed_value" not in details:
        return _silent(item, rows, f"Great Expectations raised: {exception_text(result.exception_info)}")
    each = details.get("unexpected_count") is not None
    values = int(details["element_count"]) - int(details.get("missing_count") or 0) if each else None
    examples = [*dict.fromkeys(_short(value) for value in details.get("partial_unexpected_list", ()))][:_EXAMPLES]
    return Answered(
        asked=digest_of(item),
        rows=min(rows.num_rows, item.rows),
        of=rows.num_rows,
        success=bool(result.success),
        values=values,
        unexpected=int(details["unexpected_count"]) if each else None,
        observed=_short(details["observed_value"]) if details.get("observed_value") is not None else None,
        examples=", ".join(examples) or None,
    )


def _silent(item: Expect, rows: pa.Table, problem: str) -> Answered:
    return Answered(
        asked=digest_of(item), rows=min(rows.num_rows, item.rows), of=rows.num_rows, success=None, problem=problem[:500]
    )


def _short(value: Any) -> str:
    text = " ".join(str(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def measure_listed(item: Expect, profile: Profile, answers: Mapping[str, Answered], problems: Mapping[str, str]) -> Measurement:
    """The answer as figures; those of the profile where it answers and the sample was not all."""
    found = answers.get(item.id)
    problem = _problem(item, found, problems)
    if found is None or problem is not None:
        return Measurement(id=item.id, kind="Expect", column=item.column, problem=problem, numbers={"rows": profile.rows})
    numbers: dict[str, Number] = {
        "rows": found.rows,
        "of": found.of,
        "success": int(bool(found.success)),
        "values": found.values,
        "unexpected": found.unexpected,
        "observed": found.observed,
        "examples": found.examples,
    }
    if item.form.answer == "profile" and found.rows < found.of:
        numbers |= _from_profile(item, profile)
    return Measurement(id=item.id, kind="Expect", column=item.column, numbers=numbers)


def _problem(item: Expect, found: Answered | None, problems: Mapping[str, str]) -> str | None:
    if found is None:
        return problems.get(item.id, "it was not asked while the rows were in hand; run the day again")
    if found.asked != digest_of(item):
        return "it was asked otherwise while the rows were in hand; run the day again"
    if found.values == 0 and not item.expectation.endswith("_be_null"):
        return f"there is no value in {found.rows:,} rows, so nothing was asked"
    return found.problem


def _from_profile(item: Expect, profile: Profile) -> dict[str, Number]:
    """All rows, exactly. Bounds are closed unless they are strict."""
    column = profile.columns[item.column]
    exact = {"minimum": column.minimum, "maximum": column.maximum, "mean": column.mean}[_OF_PROFILE[item.expectation]]
    value = None if exact is None else rounded(exact) if not isinstance(exact, float) else exact
    bounds: dict[str, Any] = dict(item.parameters)
    if value is None:
        return {"rows": profile.rows, "success": 0, "observed": "no value"}
    low, high = bounds.get("min_value", -math.inf), bounds.get("max_value", math.inf)
    above = value > low if bounds.get("strict_min", False) else value >= low
    below = value < high if bounds.get("strict_max", False) else value <= high
    return {"rows": profile.rows, "of": profile.rows, "success": int(above and below), "observed": f"{value:.12g}"}
