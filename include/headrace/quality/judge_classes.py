"""Great Expectations classes of ours: each reads its check's row of the profile frame and lets the gate rule.

One class per kind of check, so that a suite reads as what it asks. Importing this module imports Great Expectations (8 s of
CPU); only `headrace.quality.expectations` does, inside a function. The frame has one row per check: the cost is that of the
checks (3 ms each), not of the data.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Final

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from headrace.quality.gates import rule

_FRAME: Final = "headrace.profile_frame"


class ProfileFrame(TableMetricProvider):
    """The frame's rows by check, as a metric: taken apart once, whatever the number of expectations."""

    metric_name = _FRAME

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> dict[str, list[dict[str, Any]]]:  # noqa: N805  # the library binds the class
        frame, _kwargs, _accessor = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in frame.to_dict("records"):
            rows.setdefault(row["check"], []).append(row)
        return rows


class _ExpectChecks(BatchExpectation):
    """Rules on the frame rows named by `bounds`, JSON of check id -> the bounds its gate needs. Never raises for one bad row."""

    bounds: str
    check_kind: ClassVar[str] = ""
    metric_dependencies: ClassVar[tuple[str, ...]] = (_FRAME,)
    success_keys: ClassVar[tuple[str, ...]] = ("bounds",)

    def _validate(
        self,
        metrics: dict[Any, Any],
        runtime_configuration: Any = None,  # noqa: ARG002  # the library's signature
        execution_engine: Any = None,  # noqa: ARG002  # the library's signature
    ) -> dict[str, Any]:
        rows: dict[str, list[dict[str, Any]]] = metrics[_FRAME]
        asked: dict[str, dict[str, Any]] = json.loads(self.bounds)
        rulings = {check: _ruling(self.check_kind, check, bounds, rows.get(check, [])) for check, bounds in asked.items()}
        success = all(ruling["state"] == "ok" for ruling in rulings.values())
        return {"success": success, "result": {"observed_value": len(rulings), "details": rulings}}


def _ruling(kind: str, check: str, bounds: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, str]:
    if len(rows) != 1:
        return _failed(f"The profile frame has {len(rows)} rows for {check}, not one.")
    try:
        ruling = rule(kind, {name: value for name, value in rows[0].items() if value is not None}, bounds)
    except (ArithmeticError, ValueError, LookupError, TypeError) as error:
        return _failed(f"The gate could not rule: {type(error).__name__}: {error}.")
    return {"state": ruling.state, "observed": ruling.observed, "expected": ruling.expected, "reason": ruling.reason}


def _failed(reason: str) -> dict[str, str]:
    return {"state": "failed", "observed": "not judged", "expected": "", "reason": reason}


class ExpectSchemaToHold(_ExpectChecks):
    """Every declared column is there once, with a type of its kind."""

    check_kind: ClassVar[str] = "Schema"


class ExpectFeatureCodeToMatchReference(_ExpectChecks):
    """Both profiles were computed by the same code on the same bins."""

    check_kind: ClassVar[str] = "FeatureCode"


class ExpectRowCountWithin(_ExpectChecks):
    """The number of rows lies between its bounds."""

    check_kind: ClassVar[str] = "RowCount"


class ExpectMissingShareAtMost(_ExpectChecks):
    """Few enough null and NaN values."""

    check_kind: ClassVar[str] = "MissingShare"


class ExpectInfiniteShareAtMost(_ExpectChecks):
    """Few enough infinite values."""

    check_kind: ClassVar[str] = "InfiniteShare"


class ExpectRangeWithin(_ExpectChecks):
    """All finite values between their bounds."""

    check_kind: ClassVar[str] = "Range"


class ExpectLevelsToBeKnown(_ExpectChecks):
    """Few enough values outside the declared levels."""

    check_kind: ClassVar[str] = "KnownLevels"


class ExpectTopShareAtMost(_ExpectChecks):
    """No single value holds too many rows."""

    check_kind: ClassVar[str] = "TopShare"


class ExpectPrevalenceToMatchReference(_ExpectChecks):
    """The label's odds, sampling undone, agree with the reference."""

    check_kind: ClassVar[str] = "Prevalence"


class ExpectLabelsToBeMature(_ExpectChecks):
    """Labels are final and were known when they claim to have been."""

    check_kind: ClassVar[str] = "Maturity"


class ExpectLabelsNotSelected(_ExpectChecks):
    """Who has a label does not depend on an earlier decision."""

    check_kind: ClassVar[str] = "Selection"


class ExpectNoDrift(_ExpectChecks):
    """The column's distribution agrees with the reference profile."""

    check_kind: ClassVar[str] = "Drift"


class ExpectListedToHold(_ExpectChecks):
    """An expectation of the library's own, asked of rows before; here its answer is judged."""

    check_kind: ClassVar[str] = "Expect"


class ExpectServedValuesToBeReproduced(_ExpectChecks):
    """What the model was given equals what the same code computes again."""

    check_kind: ClassVar[str] = "Parity"


EXPECTATIONS: Final = {
    each.check_kind: each
    for each in (
        ExpectSchemaToHold,
        ExpectFeatureCodeToMatchReference,
        ExpectRowCountWithin,
        ExpectMissingShareAtMost,
        ExpectInfiniteShareAtMost,
        ExpectRangeWithin,
        ExpectLevelsToBeKnown,
        ExpectTopShareAtMost,
        ExpectPrevalenceToMatchReference,
        ExpectLabelsToBeMature,
        ExpectLabelsNotSelected,
        ExpectNoDrift,
        ExpectListedToHold,
        ExpectServedValuesToBeReproduced,
    )
}
