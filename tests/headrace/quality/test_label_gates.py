"""The prevalence gate: off by much and not by chance fails, off by little is noted, and too few rows say so."""

from __future__ import annotations

import pyarrow as pa
import pytest
from headrace.quality.profiler import profile_table
from headrace.quality.verdict import CheckResult, judge
from headrace.spec.quality import Column, Prevalence, PrevalenceReference, QualityPolicy, Sampling

YEAR = PrevalenceReference(positives=77_630, labelled=327_346)


def found(positives: int, labelled: int, reference: PrevalenceReference, sampling: Sampling | None = None) -> CheckResult:
    """What the default gate says of so many positives."""
    policy = QualityPolicy(
        columns=(Column(name="y", kind="boolean"),), checks=(Prevalence(label="y", reference=reference),), sampling=sampling
    )
    rows = pa.table({"y": [True] * positives + [False] * (labelled - positives)})
    return judge(profile_table(rows, policy.plan, code_fingerprint="c"), policy).check("prevalence.y")


@pytest.mark.parametrize(
    ("positives", "labelled", "state", "reason"),
    [
        (474, 2_000, "ok", ""),  # 23.7 %, as the year
        (7_200, 28_000, "ok", "A real but small difference: prevalence 25.7 % against 23.7 % in the reference"),
        (620, 2_000, "failed", "Prevalence 31.0 % against 23.7 % in the reference, odds 1.45 times as high"),
        (350, 2_000, "failed", "Prevalence 17.5 % against 23.7 % in the reference, odds 0.683 times as high"),
    ],
)
def test_effect_and_significance_decide_together(positives: int, labelled: int, state: str, reason: str) -> None:
    """Within a factor of 1.25 nothing fails, however many rows are sure of it; beyond, what chance does not explain."""
    check = found(positives, labelled, YEAR)

    assert check.state == state
    assert check.reason.startswith(reason)
    assert bool(check.reason) == bool(reason)


@pytest.mark.parametrize("positives", [100, 110, 119, 125, 140])
def test_too_few_rows_are_too_few_wherever_the_estimate_lies(positives: int) -> None:
    """500 rows cannot tell a factor of 1.25 from none: neither in the middle nor to a side are they called in order."""
    check = found(positives, 500, YEAR)

    assert check.state == "insufficient"
    assert check.reason.startswith("Too few rows: only odds 1.4")


def test_b69_too_few_rows_pass_with_what_they_could_have_shown() -> None:
    """B69: 5 of 50 at a keep-rate of 4,500/99,500 against 0 of 200: no finding (p = 0.82), and the detectable ratio in words."""
    sampling = Sampling(label="y", keep_negative=4500 / 99500)
    check = found(5, 50, PrevalenceReference(positives=0, labelled=200), sampling)

    assert check.state == "insufficient"
    assert check.numbers["p_value"] == pytest.approx(0.82, abs=0.005)
    assert (
        check.reason == f"Too few rows: only odds {check.numbers['detectable_ratio']:.3g} times higher or lower would be noticed."
    )
