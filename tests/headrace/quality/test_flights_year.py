"""The real year: what the gate says of each month's label against the year's own prevalence, and that it is right.

The year's 23.7 % is the mean of months from 13 % to 33 %. A gate of a factor of 1.25 in the odds must call the months that are
further off, and no other; with 25,000 rows a month, chance plays no part.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pytest
from flights_lake import table
from headrace.quality.profiler import profile_table
from headrace.quality.reference import build_reference
from headrace.quality.verdict import judge
from headrace.spec.quality import Column, Drift, Prevalence, PrevalenceReference, QualityPolicy
from scipy.stats import chi2_contingency

MONTHS = range(1, 13)
POLICY = QualityPolicy(
    columns=(
        Column(name="label", kind="boolean"),
        Column(name="distance", kind="numeric"),
        Column(name="origin", kind="categorical"),
    ),
    checks=(
        Prevalence(label="label", reference=PrevalenceReference(positives=77_630, labelled=327_346)),
        Drift(column="distance"),
        Drift(column="origin"),
    ),
    reference="r.json",
)

LABEL = replace(POLICY, checks=POLICY.checks[:1])
LATE, LANDED = 77_630, 327_346
NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"
)  # fmt: skip
WORDS = {"ok": "released, a real but small difference", "failed": "held"}
GOLDEN = {
    # month: (landed, late, odds against the year's, what the gate says)
    1: (26_398, 6_001, 0.946, "ok"),
    2: (23_611, 5_418, 0.958, "ok"),
    3: (27_902, 6_374, 0.952, "ok"),
    4: (27_564, 7_700, 1.247, "ok"),
    5: (28_128, 6_178, 0.905, "ok"),
    6: (27_075, 8_340, 1.432, "failed"),
    7: (28_293, 8_902, 1.477, "failed"),
    8: (28_756, 6_852, 1.006, "ok"),
    9: (27_010, 3_575, 0.491, "failed"),
    10: (28_618, 4_798, 0.648, "failed"),
    11: (26_971, 4_680, 0.675, "failed"),
    12: (27_020, 8_812, 1.557, "failed"),
}


@cache
def months() -> dict[int, pa.Table]:
    """Landed flights by month, with the label of the shipped example: more than fifteen minutes late."""
    options = pacsv.ConvertOptions(null_values=["NA"], include_columns=["month", "arr_delay", "distance", "origin"])
    flights = pacsv.read_csv(pa.BufferReader(table()), convert_options=options)
    landed = flights.filter(pc.is_valid(flights["arr_delay"]))
    labelled = landed.append_column("label", pc.greater(landed["arr_delay"], 15))
    return {month: labelled.filter(pc.equal(labelled["month"], month)) for month in MONTHS}


def test_each_month_gets_the_verdict_its_odds_deserve() -> None:
    """Failed exactly where the month's odds are off by more than a quarter, recomputed here by hand."""
    states, shares = {}, {}
    for month, rows in months().items():
        found = judge(profile_table(rows, LABEL.plan, code_fingerprint="c"), LABEL)
        states[month] = found.check("prevalence.label").state
        positives = pc.sum(rows["label"]).as_py()
        shares[month] = positives / rows.num_rows
        odds = positives / (rows.num_rows - positives) / (77_630 / (327_346 - 77_630))
        assert (states[month] == "failed") == (not 1 / 1.25 <= odds <= 1.25), month

    assert min(shares, key=shares.__getitem__) == 9
    assert max(shares, key=shares.__getitem__) == 12
    assert (round(shares[9], 2), round(shares[12], 2)) == (0.13, 0.33)
    assert [month for month, state in states.items() if state == "failed"] == [6, 7, 9, 10, 11, 12]


def test_the_year_month_by_month() -> None:
    """Golden: flights that landed, late ones, their odds against the year's, the gate's word; the table in the docs is this one.

    Right in three independent ways: the counts are those of the file and add up to the year's; the odds are divided by hand; and scipy's
    chi-square test of each month against the year finds a difference in every month but August.
    """
    docs, found = (Path(__file__).resolve().parents[3] / "docs" / "quality.md").read_text(), {}
    for month, rows in months().items():
        check = judge(profile_table(rows, LABEL.plan, code_fingerprint="c"), LABEL).check("prevalence.label")
        n = check.numbers
        found[month] = (n["labelled"], n["positives"], round(n["odds_ratio"], 3), check.state)
        landed, late = n["labelled"], n["positives"]
        differs = chi2_contingency([[late, landed - late], [LATE, LANDED - LATE]]).pvalue < 0.01
        word = WORDS[check.state] if differs else "released"
        line = f"| {NAMES[month - 1]} | {landed:,} | {check.observed} | {n['odds_ratio']:.3f} | {word} |"
        assert line in docs, line
        assert differs == (check.reason != "") == (month != 8)
        assert ("p < 1e-300" in check.reason) == (month == 9)  # no float holds it; it is not called 0

    assert found == GOLDEN
    assert tuple(map(sum, zip(*[row[:2] for row in GOLDEN.values()], strict=True))) == (LANDED, LATE)
    for landed, late, odds, _state in GOLDEN.values():
        assert late / (landed - late) / (LATE / (LANDED - LATE)) == pytest.approx(odds, abs=1e-3)


def test_distances_and_airports_of_the_months_are_alike() -> None:
    """Against January: no month fails, whatever its weather; a change of schedules is seen as such or not at all."""
    reference = build_reference(months()[1], POLICY.plan, code_fingerprint="c")
    worst = {
        month: max(
            judge(profile_table(rows, POLICY.plan, code_fingerprint="c", bins=reference.bins), POLICY, reference)
            .check(check)
            .numbers["psi_debiased"]
            for check in ("drift.distance", "drift.origin")
        )
        for month, rows in months().items()
    }

    assert all(value < 0.1 for value in worst.values()), worst
    assert min(worst, key=worst.__getitem__) == 1  # itself
