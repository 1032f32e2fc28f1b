"""Great Expectations judges the profile frame: one ephemeral context per call, results matched by check identity.

Per call, because a shared validation definition under threads gave another data frame's result in 198 of 200 runs. By
identity, because results come back in another order than declared. Validated through the batch, which has no serialisation
step: a stored run that meets one result it cannot encode loses all of them. Suites are built here from the declaration and
never stored or loaded.

Above 40 checks, checks of one kind share an expectation: the library spends 3 ms on each, which is more than all else together.
Their bounds are handed over as one JSON text, because the library walks and copies a mapping a dozen times (5,000 checks: 1.5 s).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headrace.quality.measurement import Measurement
from headrace.quality.ruling import Ruling
from headrace.spec.expectation import Expect

_ONE_EACH_UP_TO: Final = 40
_GROUP: Final = 100


@dataclass(frozen=True, kw_only=True)
class Question:
    """One check to judge: what was measured, the bounds of its gate, how severe a failure is."""

    measurement: Measurement
    bounds: dict[str, Any]
    severity: str


def judge_with_expectations(questions: Sequence[Question]) -> dict[str, Ruling]:
    """A ruling for every question, by check id; what Great Expectations did not answer is a failure saying so."""
    answers: dict[str, Ruling] = {}
    if questions:
        frame, classes = _frame(questions), _classes()
        results = validate(frame, [_expectation(classes, group) for group in _groups(questions)])
        for result in results:
            answers.update(_rulings(result))
    silent = Ruling(
        state="failed", observed="not judged", expected="", reason="Great Expectations returned no result for this check."
    )
    return {question.measurement.id: answers.get(question.measurement.id, silent) for question in questions}


def _classes() -> dict[str, Any]:
    """Our expectation classes. Imports Great Expectations."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # inert in this release; said anyway
    with warnings.catch_warnings():
        # The library imports a standard-library module that Python has deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        from headrace.quality.judge_classes import EXPECTATIONS
    return dict(EXPECTATIONS)


def _groups(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Questions of one kind and severity together: single ones while they are few."""
    size = 1 if len(questions) <= _ONE_EACH_UP_TO else _GROUP
    alike: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        alike.setdefault((question.measurement.kind, question.severity), []).append(question)
    for group in alike.values():
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _expectation(classes: dict[str, Any], group: list[Question]) -> Any:
    bounds = json.dumps({question.measurement.id: question.bounds for question in group})
    return classes[group[0].measurement.kind](bounds=bounds, severity=group[0].severity)


def _frame(questions: Sequence[Question]) -> Any:
    """One row per check, one column per number; None where a number does not apply. Types stay builtin (object columns)."""
    import pandas as pd

    rows = [
        {"check": question.measurement.id, "problem": question.measurement.problem, **question.measurement.numbers}
        for question in questions
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})


def listed_expectation(item: Expect) -> Any:
    """The library's own expectation for a listed one; a tie for the most common value is no failure unless it is declared to be."""
    _classes()
    from great_expectations.expectations.registry import get_expectation_impl

    least, most = item.form.columns
    names = ("column",) if most == 1 else ("column_A", "column_B") if most == 2 else ("column_list",)
    columns = dict(zip(names, item.columns, strict=True)) if least == most else {"column_list": list(item.columns)}
    given = {name: _thawed(value) for name, value in item.parameters}
    ties = {"ties_okay": True} if "ties_okay" in item.form.takes else {}
    return get_expectation_impl(item.expectation)(**{**ties, **given, **columns}, meta={"check": item.id})


def _thawed(value: Any) -> Any:
    return [_thawed(part) for part in value] if isinstance(value, tuple) else value


def validate(frame: Any, expectations: list[Any]) -> list[Any]:
    """The results of a suite over a frame, in an order of the library's own."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    # Progress bars print into the task log and keep a thread.
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("profiles").add_dataframe_asset("profile")
    batch = asset.add_batch_definition_whole_dataframe("whole").get_batch(batch_parameters={"dataframe": frame})
    suite = gx.ExpectationSuite(name="checks", expectations=expectations)
    return list(batch.validate(suite, result_format="SUMMARY").results)


def _rulings(result: Any) -> dict[str, Ruling]:
    """Rulings of one expectation's result; when it raised, a failure with the exception's text for each of its checks."""
    details = result.result.get("details") if result.result else None
    if isinstance(details, dict):
        return {check: Ruling(**ruling) for check, ruling in details.items()}
    checks = json.loads(result.expectation_config.kwargs["bounds"])
    reason = f"Great Expectations raised: {exception_text(result.exception_info)}"
    return {check: Ruling(state="failed", observed="not judged", expected="", reason=reason) for check in checks}


def exception_text(info: Any) -> str:
    """The message, which stands either directly in the mapping or one level deeper under a metric's key."""
    if not isinstance(info, dict):
        return "no reason given"
    if info.get("exception_message"):
        return str(info["exception_message"])
    nested = [exception_text(item) for item in info.values() if isinstance(item, dict)]
    return nested[0] if nested else "no reason given"
