"""Maturity and selection as declared checks: judged on counts given along, failing when these are not."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from headrace.quality.evidence import Evidence, evidence_from, evidence_plain
from headrace.quality.label_lag import DAY, LagCounts
from headrace.quality.profiler import profile_table
from headrace.quality.selection import CellCounts, SelectionCounts
from headrace.quality.verdict import judge
from headrace.spec.errors import DeclarationError
from headrace.spec.quality import Column, Maturity, QualityPolicy, Selection

POLICY = QualityPolicy(
    columns=(Column(name="y", kind="boolean"),), checks=(Maturity(label="y", maximum_immature=0.05), Selection(label="y"))
)
PROFILE = profile_table(pa.table({"y": [True, False]}), POLICY.plan, code_fingerprint="c")
RIPE = LagCounts(unit=DAY, horizon=30, positives={(100, 2): 40, (100, 9): 10}, others={100: 900})
FAIR = SelectionCounts(
    cells={
        ("approve", "all"): CellCounts(rows=900, labelled=810, positives=9),
        ("decline", "all"): CellCounts(rows=100, labelled=90, positives=5),
    }
)


def found(lag=RIPE, selection=FAIR):
    return judge(PROFILE, POLICY, evidence=Evidence(lag={"y": lag}, selection={"y": selection}))


def test_mature_and_unselected_labels_pass():
    """Old rows, all delays short, the same coverage for both decisions."""
    assert [check.state for check in found().checks] == ["ok", "ok", "ok"]


@pytest.mark.parametrize(
    ("change", "state", "reason"),
    [
        ({"others": {100: 900, 5: 100}}, "failed", "9.52 % of the rows are too young for a final label."),
        ({"immature_negative": 3}, "failed", "3 rows are called negative before they are old enough."),
        ({"before_event": 2}, "failed", "2 labels are known before their event."),
        ({"after_as_of": 1}, "failed", "1 labels are known only after the as-of instant."),
        ({"positives": {(100, 2): 40, (100, 60): 10}}, "warning", "At the horizon only 80.0 % of the labels have arrived."),
    ],
)
def test_unripe_labels_are_found(change, state, reason):
    """Young rows, early negatives, leaks, and a horizon that is too short."""
    lag = LagCounts(**{"unit": DAY, "horizon": 30, "positives": RIPE.positives, "others": RIPE.others, **change})
    check = found(lag=lag).check("maturity.y")
    assert (check.state, check.reason) == (state, reason)


def test_labels_that_follow_a_decision_are_found():
    """B75: coverage 2 % against 100 %: blocked, with both decisions and the bounds of the prevalence."""
    cells = {
        ("approve", "all"): CellCounts(rows=95_000, labelled=95_000, positives=190),
        ("decline", "all"): CellCounts(rows=5_000, labelled=100, positives=6),
    }
    check = found(selection=SelectionCounts(cells=cells)).check("selection.y")
    assert check.state == "failed"
    assert check.reason == (
        "Labels depend on the earlier decision: decline 2.00 % labelled, approve 100 %; "
        "prevalence lies somewhere between 0.196 % and 5.10 %."
    )


BY_RELEASE = {
    ("approve", "all"): CellCounts(rows=95_000, labelled=95_000, positives=190),
    ("decline", "all"): CellCounts(rows=5_000, labelled=100, positives=6),
}


def by_release(*release, cells=BY_RELEASE):
    """The check's outcome when these probabilities were declared."""
    policy = replace(POLICY, checks=(Selection(label="y", release=release),))
    return judge(PROFILE, policy, evidence=Evidence(selection={"y": SelectionCounts(cells=cells)})).check("selection.y")


def test_b75_a_declared_release_is_weighed_and_printed():
    """B75: 100 % and 2 % as declared: in order, with the weight, the effective rows and the interval: 0.19 % + 5 % of 6 % = 0.49 %."""
    check = by_release(("approve", 1.0), ("decline", 0.02))
    assert (check.state, check.expected) == ("ok", "labels released as declared: approve 100 %, decline 2.00 %")
    assert check.reason == (
        "By the declared release the prevalence of everybody is 0.490 % (0.250 % to 0.730 %), "
        "from weights up to 50, 28,986 effective rows."
    )
    assert check.numbers["effective_rows"] == pytest.approx(100_000**2 / (95_000 + 100 * 50**2))


@pytest.mark.parametrize(
    ("release", "reason"),
    [
        (
            (("approve", 1.0), ("decline", 0.05)),
            "Labels are not released as declared: decline 2.00 % labelled, 5.00 % declared; ",
        ),
        ((("approve", 0.9), ("decline", 0.02)), "Labels are not released as declared: approve 100 % labelled, 90.0 % declared; "),
        ((("approve", 1.0),), "Could not be computed: CorrectionError: decision decline: found no release probability"),
    ],
)
def test_a_release_that_is_not_what_was_declared_fails(release, reason):
    """Coverage and probability beside each other; a decision without a probability is no release."""
    check = by_release(*release)
    assert check.state == "failed"
    assert check.reason.startswith(reason)


def test_a_declared_release_does_not_excuse_a_blind_band():
    """Declined rows with a high score never get a label, whatever was declared of declined rows."""
    blind = {**BY_RELEASE, ("decline", "from 0.9"): CellCounts(rows=2_000)}
    assert by_release(("approve", 1.0), ("decline", 0.0143), cells=blind).reason.startswith(
        "No label at all for 1.96 % of the rows"
    )


def test_a_band_without_any_label_is_critical():
    """Zero coverage in 5 % of the rows."""
    cells = {**FAIR.cells, ("decline", "from 0.9"): CellCounts(rows=60)}
    check = found(selection=SelectionCounts(cells=cells)).check("selection.y")
    assert check.reason.startswith("No label at all for 5.66 % of the rows (decline, score from 0.9)")


def test_without_counts_the_checks_fail():
    """Not given is not fine."""
    verdict = judge(PROFILE, POLICY)
    assert verdict.check("maturity.y").reason == "Label lag was not counted for this data."
    assert verdict.check("selection.y").reason == "Selection was not counted for this data."


def test_evidence_survives_storage():
    """Plain JSON and back."""
    evidence = Evidence(lag={"y": RIPE}, selection={"y": FAIR})
    assert evidence_from(json.loads(json.dumps(evidence_plain(evidence)))) == evidence


@pytest.mark.parametrize(
    "build",
    [
        lambda: Maturity(label="y", maximum_immature=2),
        lambda: Selection(label="y", alpha=0),
        lambda: Selection(label="y", release={"decline": 0.02}),
        lambda: Selection(label="y", release=(("decline", 0.0),)),
        lambda: Selection(label="y", release=(("decline", 0.02), ("decline", 0.03))),
        lambda: Selection(label="y", release=("decline",)),
    ],
)
def test_bounds_are_checked_at_the_door(build):
    """A share above 1, an alpha of 0, a release that is no probability for each decision once."""
    with pytest.raises(DeclarationError):
        build()


def test_the_page_tells_maturity_and_coverage():
    """Horizon, completed prevalence, coverage by decision, and both bounds, in words."""
    from headrace.quality.report import report_page

    text = report_page(found()).decode()
    assert "0 of 950 rows (0 %) are younger than the label's horizon." in text
    assert "100 % are there at the horizon" in text
    assert '<th scope="row">decline</th><td>100</td><td>90</td><td>90.0 %</td>' in text
    assert "With every unlabelled row negative the prevalence is 1.40 %, with every one positive 11.4 %." in text


def test_the_page_tells_what_a_declared_release_says():
    """The sentence of the check, beside both bounds."""
    from headrace.quality.report import report_page

    policy = replace(POLICY, checks=(Selection(label="y", release=(("approve", 1.0), ("decline", 0.02))),))
    text = report_page(judge(PROFILE, policy, evidence=Evidence(selection={"y": SelectionCounts(cells=BY_RELEASE)}))).decode()
    assert "with every one positive 5.10 %. By the declared release the prevalence of everybody is 0.490 % (" in text
