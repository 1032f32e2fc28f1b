"""Expectations a user lists: asked of a bounded sample, each once in the verdict, and what a sample cannot say is said."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flights_lake import checked, land, publish_days
from headrace.lake.local import LocalStore
from headrace.quality.evidence import Evidence, evidence_from, evidence_plain
from headrace.quality.listed import ask_rows, sample
from headrace.quality.profiler import profile_table
from headrace.quality.verdict import CheckResult, Verdict, judge
from headrace.spec.expectation import FORMS, Expect
from headrace.spec.quality import Column, QualityPolicy, RowCount, expect
from hypothesis import given
from hypothesis import strategies as st

from include.datasets.flights import FLIGHT_DELAY, QUALITY

COLUMNS = (
    Column(name="code", kind="categorical"),
    Column(name="low", kind="numeric"),
    Column(name="high", kind="numeric"),
    Column(name="y", kind="boolean"),
)
ROWS = pa.table(
    {
        "code": ["AA1", "AA2", "B-3", None, "AA1"],
        "low": [1.0, 2.0, 3.0, 4.0, None],
        "high": [2.0, 2.0, 9.0, 3.0, 1.0],
        "y": [True, False, False, True, None],
    }
)


def verdict(rows: pa.Table, *checks: Any, evidence: Evidence | None = None) -> Verdict:
    policy = QualityPolicy(columns=COLUMNS, checks=checks)
    found = (
        Evidence(listed=ask_rows(rows, [item for item in checks if isinstance(item, Expect)])) if evidence is None else evidence
    )
    return judge(profile_table(rows, policy.plan, code_fingerprint="c"), policy, evidence=evidence_from(evidence_plain(found)))


def result(rows: pa.Table, check: Expect) -> CheckResult:
    return verdict(rows, check).check(check.id)


@pytest.mark.parametrize(
    ("check", "state", "observed"),
    [
        (expect("expect_column_values_to_match_regex", "code", regex="^[A-Z]"), "ok", "0 of 4 values not as expected (0 %)"),
        (expect("expect_column_values_to_match_regex", "code", regex="^A"), "failed", "1 of 4 values not as expected (25.0 %)"),
        (
            expect("expect_column_values_to_match_regex", "code", regex="^A", mostly=0.7),
            "ok",
            "1 of 4 values not as expected (25.0 %)",
        ),
        (expect("expect_column_values_to_be_in_set", "y", value_set=[True, False]), "ok", "0 of 4 values not as expected (0 %)"),
        (expect("expect_column_values_to_not_be_null", "low"), "failed", "1 of 5 values not as expected (20.0 %)"),
        (expect("expect_column_values_to_be_unique", "code"), "failed", "2 of 4 values not as expected (50.0 %)"),
        (
            expect("expect_column_pair_values_a_to_be_greater_than_b", "high", "low", or_equal=True),
            "failed",
            "2 of 5 values not as expected (40.0 %)",  # 3 is below 4, and the library takes a missing side for a failure
        ),
        (
            expect(
                "expect_column_pair_values_a_to_be_greater_than_b",
                "high",
                "low",
                or_equal=True,
                ignore_row_if="either_value_is_missing",
            ),
            "failed",
            "1 of 4 values not as expected (25.0 %)",
        ),
        (expect("expect_column_mean_to_be_between", "low", min_value=2, max_value=3), "ok", "observed 2.5"),
        (expect("expect_column_max_to_be_between", "high", max_value=8), "failed", "observed 9.0"),
        (expect("expect_column_median_to_be_between", "high", min_value=2, max_value=2), "ok", "observed 2.0"),
        (expect("expect_compound_columns_to_be_unique", "code", "low"), "ok", "0 of 5 values not as expected (0 %)"),
    ],
)
def test_a_listed_expectation_is_answered_by_the_library(check: Expect, state: str, observed: str) -> None:
    """Literal rows: the state, and counts of values that are there, nulls apart."""
    found = result(ROWS, check)
    assert (found.state, found.observed) == (state, observed)


def test_a_failure_names_what_was_asked_and_shows_examples() -> None:
    """The sentence of an alert: how many, which, and the expectation in words."""
    found = result(ROWS, expect("expect_column_values_to_match_regex", "code", regex="^A"))
    assert found.id == "expect.column_values_to_match_regex.code"
    assert found.reason == "1 of 4 values not as expected (25.0 %) (B-3)."
    assert found.expected == "column values to match regex: regex ^A"
    assert found.next_step.startswith("Look at the examples")


def test_each_listed_check_stands_once_beside_the_others_and_one_that_raises_loses_only_itself() -> None:
    """B17, B52: a regular expression that is none, the same question under two names, and a check of ours: four results, in order."""
    broken = expect("expect_column_values_to_match_regex", "code", regex="(", name="broken")
    twice = [expect("expect_column_values_to_not_be_null", "high", name=name) for name in ("a", "b")]
    found = verdict(ROWS, broken, RowCount(), *twice)

    assert [item.id for item in found.checks] == ["schema", broken.id, "row_count", *(item.id for item in twice)]
    assert [item.state for item in found.checks] == ["ok", "failed", "ok", "ok", "ok"]
    assert "Great Expectations raised" in found.check(broken.id).reason


MANY = pa.table(
    {
        "code": [f"A{n}" for n in range(20_000)],
        "low": np.arange(20_000.0),
        "high": np.arange(20_000.0) + 1,
        "y": np.arange(20_000) % 2 == 0,
    }
)


def test_a_share_of_a_sample_says_how_rare_it_could_not_see() -> None:
    """1,000 of 20,000 rows: fine as far as can be seen, which is three in a thousand; a common fault is found."""
    fine = result(MANY, expect("expect_column_values_to_match_regex", "code", regex="^A", rows=1_000))
    bad = result(MANY, expect("expect_column_values_to_be_between", "low", max_value=9_999, rows=1_000))

    assert fine.state == "ok"
    assert fine.reason == "Asked of 1,000 of 20,000 rows; what is in fewer than 0.300 % of them may have been missed."
    assert bad.state == "failed"
    assert bad.reason.endswith(", asked of 1,000 of 20,000 rows.")
    assert 0.4 < bad.numbers["unexpected"] / bad.numbers["values"] < 0.6


def test_what_only_all_rows_can_answer_is_left_open() -> None:
    """A median of a part is no median, uniqueness in a part no uniqueness: too little data, never a pass; a duplicate seen is proof."""
    median = result(MANY, expect("expect_column_median_to_be_between", "low", min_value=0, rows=1_000))
    unique = result(MANY, expect("expect_column_values_to_be_unique", "code", rows=1_000))
    twice = result(
        MANY.set_column(0, "code", pa.array(["A"] * 20_000)), expect("expect_column_values_to_be_unique", "code", rows=9)
    )

    assert (median.state, unique.state, twice.state) == ("insufficient", "insufficient", "failed")
    assert median.reason == "Only all rows together can answer this, and 1,000 of 20,000 rows were looked at."


@pytest.mark.parametrize(
    ("check", "state", "observed"),
    [
        (expect("expect_column_max_to_be_between", "low", max_value=19_998, rows=50), "failed", "observed 19999"),
        (expect("expect_column_max_to_be_between", "low", max_value=19_999, rows=50), "ok", "observed 19999"),
        (
            expect("expect_column_max_to_be_between", "low", max_value=19_999, strict_max=True, rows=50),
            "failed",
            "observed 19999",
        ),
        (expect("expect_column_min_to_be_between", "low", min_value=0, rows=50), "ok", "observed 0"),
        (expect("expect_column_mean_to_be_between", "low", min_value=9_999, max_value=1e4, rows=50), "ok", "observed 9999.5"),
    ],
)
def test_extremes_and_means_come_from_the_profile(check: Expect, state: str, observed: str) -> None:
    """Exact at any number of rows, however few were drawn, and with nothing left open."""
    found = result(MANY, check)
    assert (found.state, found.observed, found.numbers["of"]) == (state, observed, 20_000)


@given(st.integers(0, 400), st.integers(1, 60))
def test_a_sample_is_bounded_in_order_and_the_same_again(rows: int, bound: int) -> None:
    """At most the bound, each row at most once, in the rows' order, no clock and no random number."""
    drawn = sample(pa.table({"n": np.arange(rows)}), bound)["n"].to_pylist()
    assert len(drawn) == min(rows, bound)
    assert drawn == sorted(set(drawn))
    assert drawn == sample(pa.table({"n": np.arange(rows)}), bound)["n"].to_pylist()


def test_a_sample_is_even() -> None:
    """1,000 of 100,000: every tenth of the rows gives 100, give or take 4 standard deviations, also along a period of seven."""
    drawn = np.array(sample(pa.table({"n": np.arange(100_000)}), 1_000)["n"])
    for group, groups in ((drawn // 10_000, 10), (drawn % 7, 7)):
        counts = np.bincount(group, minlength=groups)
        assert np.abs(counts - 1_000 / groups).max() < 4 * np.sqrt(1_000 / groups)


def test_no_value_at_all_is_no_pass() -> None:
    """B1, B4: the library calls an expectation about no values a success; here it is a failure with the reason."""
    empty = ROWS.set_column(0, "code", pa.nulls(5, pa.string()))
    found = result(empty, expect("expect_column_values_to_match_regex", "code", regex="^A"))
    none = result(ROWS.slice(0, 0), expect("expect_column_values_to_match_regex", "code", regex="^A"))

    assert (found.state, found.reason) == ("failed", "There is no value in 5 rows, so nothing was asked.")
    assert (none.state, none.reason) == ("failed", "The data has no rows.")


def test_an_answer_to_another_question_does_not_count() -> None:
    """The check was loosened after the rows were joined: the stored answer is not about it. One never asked says so, too."""
    strict, loose = (expect("expect_column_values_to_match_regex", "code", regex="^A", mostly=share) for share in (1.0, 0.5))
    found = verdict(ROWS, loose, evidence=Evidence(listed=ask_rows(ROWS, [strict]))).check(loose.id)
    silent = verdict(ROWS, loose, evidence=Evidence()).check(loose.id)

    assert found.reason == "It was asked otherwise while the rows were in hand; run the day again."
    assert silent.reason == "It was not asked while the rows were in hand; run the day again."
    assert (found.state, silent.state) == ("failed", "failed")


def test_a_vanished_column_of_a_pair_is_structural() -> None:
    """Whatever was declared, and whichever of the two it is."""
    check = expect("expect_column_pair_values_to_be_equal", "low", "high", severity="info")
    found = result(ROWS.drop_columns(["high"]), check)
    assert (found.severity, found.state, found.reason) == ("critical", "failed", "Column high is absent in 5 rows.")


def test_b54_a_tie_for_the_most_common_value_is_no_failure() -> None:
    """B54: two values tie, both are in the set: fine, unless the declaration says that ties are not."""
    tied = ROWS.set_column(0, "code", pa.array(["a", "a", "b", "b", "c"]))
    check = expect("expect_column_most_common_value_to_be_in_set", "code", value_set=["a", "b"])
    assert result(tied, check).state == "ok"
    assert result(tied, expect(check.expectation, "code", value_set=["a"])).state == "ok"  # one of the tied is in the set
    assert result(tied, expect(check.expectation, "code", value_set=["a", "b"], ties_okay=False)).state == "failed"


def test_every_form_is_the_librarys_own() -> None:
    """Names, parameters and columns of the table are those of the installed Great Expectations: an upgrade that renames one is seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import great_expectations.expectations  # noqa: F401 - registers them
        from great_expectations.expectations.registry import get_expectation_impl

    for name, form in FORMS.items():
        known = get_expectation_impl(name).__fields__
        subjects = {(1, 1): {"column"}, (2, 2): {"column_A", "column_B"}}.get(form.columns, {"column_list"})
        assert {*form.needs, *form.takes, *subjects} <= set(known), name
        required = {field for field, kind in known.items() if kind.required}
        assert required <= {*form.needs, *subjects}, name


def test_a_real_day_is_asked_while_its_rows_are_in_hand(tmp_path: Any) -> None:
    """Flights of one day: carriers are two letters or digits; distances in the air are never above 4,983 miles; one is held."""
    day = date(2013, 1, 2)
    source, lake = LocalStore(tmp_path / "landing"), LocalStore(tmp_path / "lake")
    land(source, [date(2013, 1, 1), day])
    publish_days(source, lake, [date(2013, 1, 1), day])
    listed = (
        expect("expect_column_values_to_match_regex", "origin", regex="^[A-Z]{3}$"),
        expect("expect_column_max_to_be_between", "distance", max_value=2_000),
    )
    asked = replace(FLIGHT_DELAY, live=None, quality=replace(QUALITY, checks=(*QUALITY.checks, *listed)))
    _, found = checked(asked, day, lake)

    assert found.verdict is not None
    assert [found.verdict.check(item.id).state for item in listed] == ["ok", "failed"]
    assert found.verdict.check(listed[1].id).observed == "observed 4983"
    assert found.verdict.headline.startswith("Blocked: 1 critical failure. distance: Observed 4983")
