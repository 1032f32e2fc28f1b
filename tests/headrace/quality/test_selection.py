"""Labels conditioned on an earlier decision are found, bounded, and only corrected by a known random release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.errors import CorrectionError
from headrace.quality.selection import (
    CellCounts,
    SelectionCounts,
    audit_selection,
    count_selection,
    merge_selection,
    released_prevalence,
    unlike_release,
)
from scipy import stats


def counts(**decisions):
    """decision=(rows, labelled, positives)."""
    cells = {(name, "all"): CellCounts(rows=r, labelled=n, positives=p) for name, (r, n, p) in decisions.items()}
    return SelectionCounts(cells=cells)


def test_counting_by_hand():
    """Decision and band by row; a missing decision or score is a group of its own; null labels are unlabelled."""
    table = pa.table(
        {
            "decision": ["approve", "approve", "decline", None],
            "score": [0.1, 0.5, 0.9, None],
            "y": pa.array([True, False, None, None], pa.bool_()),
        }
    )
    found = count_selection(table, decision="decision", label="y", score="score", edges=(0.5, 0.8))
    assert found.cells == {
        ("(unknown)", "(unknown)"): CellCounts(rows=1),
        ("approve", "0.5 to 0.8"): CellCounts(rows=1, labelled=1),
        ("approve", "below 0.5"): CellCounts(rows=1, labelled=1, positives=1),
        ("decline", "from 0.8"): CellCounts(rows=1),
    }
    assert merge_selection(found, found).total == CellCounts(rows=8, labelled=4, positives=2)


def test_labels_only_for_approved_rows_are_not_identifiable():
    """Five percent declined and never labelled: a blind cell, and bounds from all negative to all positive."""
    found = audit_selection(counts(approve=(95_000, 95_000, 190), decline=(5_000, 0, 0)))
    assert found.blind == ((("decline", "all"), 0.05),)
    assert (found.lowest, found.highest) == (("decline", 0.0), ("approve", 1.0))
    assert found.labelled_prevalence == pytest.approx(0.002)
    assert (found.low, found.high) == pytest.approx((0.0019, 0.0519))
    assert found.p_value < 1e-9


def test_the_coverage_test_equals_the_library():
    """Chi-square over three decisions, to 1e-9; equal coverage is no finding."""
    expected = stats.chi2_contingency([[90, 10], [170, 30], [240, 60]], correction=False).pvalue
    found = audit_selection(counts(a=(100, 90, 1), b=(200, 170, 1), c=(300, 240, 1)))
    assert found.p_value == pytest.approx(expected, abs=1e-9)
    assert audit_selection(counts(a=(100, 90, 1))).p_value == 1.0
    assert audit_selection(SelectionCounts()) is None


def test_b75_a_known_random_release_repairs_the_prevalence():
    """B75: labels for the approved and a random 2 % of the declined: 0.20 % labelled, 0.50 % on the mean of 40 draws."""
    found = draws(40, approved=475_000, declined=25_000, release=0.02)
    values = np.array([item.share.value for item in found])
    assert values.mean() == pytest.approx(TRUTH, abs=3 * values.std() / 40**0.5)
    assert {item.largest_weight for item in found} == {50.0}


def test_the_release_estimates_error_is_the_real_one():
    """300 smaller draws: the spread of the estimates is what each said, and the interval holds the truth as often as it says."""
    found = draws(300, approved=19_000, declined=1_000, release=0.3)
    assert np.std([item.share.value for item in found]) == pytest.approx(np.mean([item.share.error for item in found]), rel=0.12)
    assert np.mean([item.share.low <= TRUTH <= item.share.high for item in found]) > 0.91


TRUTH = 0.95 * 0.002 + 0.05 * 0.062


def draws(number, *, approved, declined, release):
    """Estimates from populations with a prevalence of 0.2 % among approved and 6.2 % among declined: 0.5 % in all."""
    draw, found = np.random.default_rng(9), []
    for _ in range(number):
        labelled = int(draw.binomial(declined, release))
        decline = (declined, labelled, int(draw.binomial(labelled, 0.062)))
        counted = counts(approve=(approved, approved, int(draw.binomial(approved, 0.002))), decline=decline)
        found.append(released_prevalence(counted, {"approve": 1.0, "decline": release}))
    return found


@pytest.mark.parametrize("release", [{"approve": 1.0}, {"approve": 1.0, "decline": 0.0}, {"approve": 1.0, "decline": 0.5}])
def test_an_unknown_or_empty_release_is_refused(release):
    """No probability, an impossible one, or no labelled row to weigh."""
    with pytest.raises(CorrectionError):
        released_prevalence(counts(approve=(10, 10, 1), decline=(10, 0 if release.get("decline") == 0.5 else 1, 0)), release)


@pytest.mark.parametrize(
    ("labelled", "rate", "unlike"),
    [
        (100, 0.02, False),  # as declared
        (150, 0.02, True),  # one point more, but weights half as large again
        (111, 0.02, False),  # within a factor of 1.25, however sure
        (4_950, 1.0, False),  # one point short
        (4_850, 1.0, True),  # three
        (4_600, 0.95, True),
    ],
)
def test_a_release_unlike_the_declared_one(labelled, rate, unlike):
    """Of 5,000 rows: by more than 2 points or a factor of 1.25."""
    found = unlike_release(counts(a=(5_000, labelled, 0)), {"a": rate}, maximum_difference=0.02, alpha=0.01)
    assert found == ((("a", labelled / 5_000, rate),) if unlike else ())


def test_chance_alone_is_not_unlike():
    """2,000 draws of 20 rows released at 30 %: coverage is often off by a factor of 1.25, alarms are rarer than 2 in 100."""
    drawn = np.random.default_rng(3).binomial(20, 0.3, 2000)
    off = np.mean((drawn / 20 > 0.375) | (drawn / 20 < 0.24))
    alarms = [len(unlike_release(counts(a=(20, int(n), 0)), {"a": 0.3}, maximum_difference=0.02, alpha=0.01)) for n in drawn]
    assert off > 0.3
    assert 0 < np.mean(alarms) < 0.02
