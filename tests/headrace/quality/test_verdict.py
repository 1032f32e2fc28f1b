"""Every declared check stands once in the verdict, with a state and a reason; nothing passes by silence."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from headrace.quality.gates import rule
from headrace.quality.profiler import empty_profile, profile_table
from headrace.quality.reference import build_reference
from headrace.quality.ruling import STATES
from headrace.quality.verdict import judge, not_run, verdict_bytes
from headrace.spec.quality import (
    Column,
    Drift,
    InfiniteShare,
    KnownLevels,
    MissingShare,
    Prevalence,
    PrevalenceReference,
    ProfilePlan,
    QualityPolicy,
    Range,
    RowCount,
    Sampling,
    TopShare,
)
from quality_samples import CODE, judge_against, judge_column, normal

COLUMNS = (
    Column(name="x", kind="numeric", default=-1.0),
    Column(name="c", kind="categorical", levels=("a", "b")),
    Column(name="y", kind="boolean"),
)
CHECKS = (
    RowCount(minimum=5),
    MissingShare(column="x"),
    InfiniteShare(column="x"),
    Range(column="x", minimum=-10, maximum=10),
    KnownLevels(column="c"),
    TopShare(column="c", maximum=0.9),
    Prevalence(label="y"),
    Drift(column="x"),
    Drift(column="c"),
    Drift(column="y"),
)
POLICY = QualityPolicy(columns=COLUMNS, checks=CHECKS, reference="r.json")
IDS = ["schema", "feature_code", *(check.id for check in CHECKS)]


def sample(rows: int = 4000, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table({"x": draw.normal(size=rows), "c": draw.choice(["a", "b"], rows), "y": draw.random(rows) < 0.2})


REFERENCE = build_reference(sample(20_000, seed=1), POLICY.plan, code_fingerprint=CODE)


def test_good_data_passes_every_check_once():
    """The declared checks in their order, behind schema and feature code, all ok."""
    found = judge_against(REFERENCE, sample(), POLICY)
    assert [check.id for check in found.checks] == IDS
    assert {check.state for check in found.checks} == {"ok"}
    assert (found.state, found.passes, found.headline) == ("ok", True, "All clear: 12 checks passed.")


def test_b1_no_rows_fail_every_declared_check():
    """B1: an empty batch is a failure of each check, with the reason, never a success."""
    found = judge_against(REFERENCE, sample(0), POLICY)
    assert {check.state for check in found.checks if check.id in {c.id for c in CHECKS}} == {"failed"}
    assert {check.reason for check in found.checks if check.id in {c.id for c in CHECKS}} == {"The data has no rows."}
    assert (found.state, found.passes) == ("failed", False)


def test_b12_every_result_that_is_not_ok_has_a_reason_and_a_next_step():
    """B12: one row, no rows, a changed type, no reference: nothing fails without a sentence and what to do."""
    odd = [sample(1), sample(0), sample().set_column(0, "x", pa.array(["1"] * 4000))]
    found = [judge_against(REFERENCE, table, POLICY) for table in odd] + [judge_against(None, sample(), POLICY)]
    silent = [check.id for verdict in found for check in verdict.checks if check.state != "ok" and not check.reason]
    stuck = [check.id for verdict in found for check in verdict.checks if check.state != "ok" and not check.next_step]
    assert (silent, stuck) == ([], [])
    assert all(verdict.state != "ok" for verdict in found)


def test_b3_b52_what_great_expectations_does_not_answer_is_a_failure(monkeypatch):
    """B3, B52: when results go missing, each check still appears, as failed."""
    monkeypatch.setattr("headrace.quality.expectations.validate", lambda frame, expectations: [])
    found = judge_against(REFERENCE, sample(), POLICY)
    assert [check.id for check in found.checks] == IDS
    assert {(check.state, check.reason) for check in found.checks} == {
        ("failed", "Great Expectations returned no result for this check.")
    }


def test_b4_an_all_null_column_fails_its_value_checks():
    """B4: with no value at all, range and levels are not judged, which is a failure, and the missing share says why."""
    found = judge_column(
        normal(500, seed=1), pa.nulls(500, pa.float64()), Range(column="x", minimum=-9), MissingShare(column="x")
    )
    assert found.check("range.x").state == "failed"
    assert "no finite value" in found.check("range.x").reason
    assert (found.check("missing_share.x").state, found.check("missing_share.x").observed) == ("failed", "100 %")


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "0.1", True])
def test_b6_a_statistic_that_is_no_number_never_passes(value):
    """B6: NaN, infinite, absent or mistyped numbers rule as failed, naming the number."""
    ruling = rule("MissingShare", {"share": value}, {"maximum": 1.0})
    assert (ruling.state, ruling.reason) == ("failed", "No number for share.")


def test_a_check_without_a_gate_is_a_failure():
    """An unknown kind of check is not dropped."""
    assert rule("Freshness", {"age": 1}, {}).state == "failed"


@pytest.mark.parametrize("bad", [pa.nulls(3000, pa.float64()), pa.array([math.nan] * 3000), pa.array([math.inf] * 3000)])
def test_b5_b7_one_bad_column_neither_crashes_nor_hides_the_others(bad):
    """B5, B7: a column of nulls, NaN or infinities is reported as drifted; the other columns keep their verdicts."""
    found = judge_against(REFERENCE, sample(3000).set_column(0, "x", bad), POLICY)
    assert found.check("drift.x").state == "failed"
    assert [found.check(i).state for i in ("drift.c", "drift.y", "known_levels.c", "prevalence.y")] == ["ok"] * 4


@pytest.mark.parametrize("severity", ["info", "warning", "critical"])
def test_b47_a_vanished_column_is_critical_whatever_was_declared(severity):
    """B47: an informational check on a column that is gone blocks like any other."""
    policy = QualityPolicy(columns=COLUMNS, checks=(MissingShare(column="x", severity=severity),), reference="r.json")
    found = judge_against(REFERENCE, sample().drop_columns(["x"]), policy)
    assert (found.check("missing_share.x").severity, found.check("missing_share.x").state) == ("critical", "failed")
    assert found.check("schema").reason == "Column x is absent in 4,000 rows."
    assert found.check("schema").observed == "1 of 3 columns wrong"
    assert found.state == "failed"


def test_b21_b23_a_changed_type_or_a_doubled_column_fails_the_schema_by_name():
    """B21, B23: text where a number is declared, and a name that stands twice."""
    retyped = sample().set_column(0, "x", pa.array(["1"] * 4000))
    assert (
        judge_against(REFERENCE, retyped, POLICY).check("schema").reason
        == "Column x has type string where numeric is declared, in 4,000 rows."
    )
    twice = sample().append_column("x", pa.array([1.0] * 4000))
    assert judge_against(REFERENCE, twice, POLICY).check("schema").reason == "Column x is there twice or more in 4,000 rows."


def test_b20_codes_that_became_floats_are_refused_with_type_and_rows():
    """B20: a categorical that a data frame with gaps turned into floats fails the schema; the other columns keep their verdicts."""
    floats = sample().set_column(1, "c", pa.array([1.0, 2.0, math.nan, None] * 1000))
    found = judge_against(REFERENCE, floats, POLICY)
    assert found.check("schema").reason == "Column c has type double where categorical is declared, in 4,000 rows."
    assert [found.check(i).state for i in ("known_levels.c", "drift.c", "drift.x", "range.x")] == ["failed", "failed", "ok", "ok"]


def test_b58_examples_are_bounded():
    """B58: 5,000 levels nobody declared leave at most 20 names in the profile and a verdict of a few kilobytes."""
    table = sample(5000).set_column(1, "c", pa.array([f"level {i}" for i in range(5000)]))
    policy = QualityPolicy(columns=COLUMNS, checks=(KnownLevels(column="c"), Drift(column="c")), reference="r.json")
    profile = profile_table(table, policy.plan, code_fingerprint=CODE, bins=REFERENCE.bins)
    found = judge(profile, policy, REFERENCE)
    assert len(profile.columns["c"].new_levels) == 20
    assert found.check("known_levels.c").numbers["unknown"] == 5000
    assert len(verdict_bytes(found)) < 10_000


def test_other_feature_code_is_refused():
    """D6: a distance between two computations of a feature means nothing; the comparison is not made."""
    found = judge_against(REFERENCE, sample(), POLICY, code="code-2")
    assert (
        found.check("feature_code").reason == "The reference was computed by other feature code (code-1) than this data (code-2)."
    )
    assert found.check("feature_code").observed == "different"
    assert {found.check(i).state for i in ("drift.x", "drift.c", "drift.y", "prevalence.y")} == {"failed"}
    assert found.check("range.x").state == "ok"


def test_a_missing_reference_fails_what_needs_it():
    """Drift without a reference is not silently skipped."""
    found = judge_against(None, sample(), POLICY)
    assert found.check("drift.x").reason == "The reference profile was not given."
    assert found.check("missing_share.x").state == "ok"


def test_no_labelled_rows_fail_the_prevalence_check():
    """A label column without a label proves nothing about prevalence."""
    found = judge_against(REFERENCE, sample().set_column(2, "y", pa.nulls(4000, pa.bool_())), POLICY)
    assert (found.check("prevalence.y").state, found.check("prevalence.y").reason) == ("failed", "No labelled rows in the data.")


@pytest.mark.parametrize(
    ("severity", "state", "passes"), [("critical", "failed", False), ("warning", "warning", True), ("info", "ok", True)]
)
def test_severity_decides_what_a_failure_does(severity, state, passes):
    """A failed check blocks, flags or only shows, by its declared severity; its own state stays failed."""
    policy = QualityPolicy(columns=COLUMNS, checks=(RowCount(minimum=9999, severity=severity),))
    found = judge_against(None, sample(), policy)
    assert (found.check("row_count").state, found.state, found.passes) == ("failed", state, passes)


def test_b48_at_least_means_at_least():
    """B48: asking for warnings and worse returns the critical failure too."""
    policy = QualityPolicy(columns=COLUMNS, checks=(RowCount(minimum=9999), MissingShare(column="x", severity="info")))
    found = judge_against(None, sample(), policy)
    assert [check.id for check in found.at_least("warning")] == ["row_count"]


def test_b17_one_expectation_that_raises_loses_only_itself(monkeypatch):
    """B17: a gate that raises is that check's failure, with the text; every other result is there."""

    def broken(kind, numbers, bounds):
        if kind == "Range":
            raise ZeroDivisionError("division by zero")
        return rule(kind, numbers, bounds)

    judge_against(None, sample(), QualityPolicy(columns=COLUMNS, checks=(RowCount(),)))  # the classes are imported now
    monkeypatch.setattr("headrace.quality.judge_classes.rule", broken)
    found = judge_against(REFERENCE, sample(), POLICY)
    assert found.check("range.x").reason == "The gate could not rule: ZeroDivisionError: division by zero."
    assert [check.state for check in found.checks if check.id != "range.x"] == ["ok"] * 11


def test_b14_the_verdict_is_strict_json_of_builtin_types():
    """B14, B17: infinities in the data, numpy inside the statistics: the document holds neither."""
    table = sample().set_column(0, "x", pa.array([math.inf, -math.inf, math.nan, None] * 1000))
    data = verdict_bytes(judge_against(REFERENCE, table, POLICY))
    plain = json.loads(data, parse_constant=lambda text: pytest.fail(f"{text} in strict JSON"))
    assert [check["id"] for check in plain["checks"]] == IDS
    assert plain["version"] == 1


def test_b41_judging_again_gives_the_same_bytes():
    """B41: no sketch, no clock, no random number: identical verdicts from identical profiles."""
    assert verdict_bytes(judge_against(REFERENCE, sample(), POLICY)) == verdict_bytes(judge_against(REFERENCE, sample(), POLICY))


def test_b59_b60_parallel_verdicts_never_swap():
    """B59, B60: 24 judgements on four threads, each with its own row count: every one gets its own answer."""
    policy = QualityPolicy(columns=COLUMNS, checks=(RowCount(),))
    profiles = {rows: profile_table(sample(rows), policy.plan, code_fingerprint=CODE) for rows in range(10, 34)}
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(profiles, pool.map(lambda p: judge(p, policy), profiles.values()), strict=True))
    assert {rows: verdict.check("row_count").observed for rows, verdict in found.items()} == {r: f"{r} rows" for r in profiles}


def test_b57_wide_tables_are_judged_in_seconds():
    """B57: 1,000 columns, 2,000 checks: each once, in the declared order, grouped so that the library's cost stays small."""
    columns = tuple(Column(name=f"f{i}", kind="numeric") for i in range(1000))
    checks = tuple(check for c in columns for check in (MissingShare(column=c.name), Range(column=c.name, minimum=-9)))
    table = pa.table({c.name: normal(50, seed=i) for i, c in enumerate(columns)})
    found = judge_against(None, table, QualityPolicy(columns=columns, checks=checks))
    assert [check.id for check in found.checks] == ["schema", *(check.id for check in checks)]
    assert found.state == "ok"


def test_nothing_ran_is_not_a_pass():
    """When judging itself was impossible, every declared check says so."""
    found = not_run(POLICY, "the profile could not be read")
    assert (found.state, found.passes) == ("not run", False)
    assert {(check.state, check.reason) for check in found.checks} == {("not run", "the profile could not be read")}
    assert [check.id for check in found.checks] == IDS[2:]


def test_an_empty_profile_never_passes():
    """Zero rows and zero counts, judged by the loosest check there is."""
    policy = QualityPolicy(columns=COLUMNS, checks=(MissingShare(column="x", maximum=1.0),))
    assert judge(empty_profile(policy.plan, code_fingerprint=CODE), policy).state == "failed"


def test_states_run_from_best_to_worst():
    """The order in which a verdict adds up."""
    assert STATES == ("ok", "insufficient", "warning", "failed", "not run")


def test_the_seeds_example_passes_and_its_wrong_keep_rate_fails():
    """0.5 % true, 10 % in training: with the real rates in order; with negatives declared as all kept, blocked."""
    plan = (Column(name="y", kind="boolean"),)
    training = pa.table({"y": [True] * 500 + [False] * 4500})
    check = Prevalence(label="y", reference=PrevalenceReference(positives=2500, labelled=500_000))

    def verdict(keep):
        return judge_against(
            None, training, QualityPolicy(columns=plan, checks=(check,), sampling=Sampling(label="y", keep_negative=keep))
        )

    assert verdict(4500 / 99500).check("prevalence.y").observed.startswith("0.500 %")
    assert verdict(4500 / 99500).state == "ok"
    assert verdict(1.0).state == "failed"
    assert verdict(1.0).headline.startswith(
        "Blocked: 1 critical failure. y: Prevalence 10.0 % against 0.500 % in the reference, odds 22."
    )


def test_profile_plan_order_does_not_matter_for_the_state():
    """The same checks declared in reverse give the same states by identity."""
    forward = judge_against(REFERENCE, sample(), POLICY)
    backward = judge_against(REFERENCE, sample(), QualityPolicy(columns=COLUMNS, checks=CHECKS[::-1], reference="r.json"))
    assert {c.id: c.state for c in forward.checks} == {c.id: c.state for c in backward.checks}


def test_the_plan_of_a_policy_is_what_its_profile_needs():
    """`policy.plan` holds the columns and the sampling."""
    assert POLICY.plan == ProfilePlan(columns=COLUMNS, sampling=None)
