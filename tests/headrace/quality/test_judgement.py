"""A verdict becomes findings: what each check did to it, and two runs that say the same are the same."""

from __future__ import annotations

from dataclasses import replace

from headrace.quality.judgement import Finding, Judgement, digest_of_mark, findings_of
from headrace.quality.verdict import CheckResult, Verdict

MOVED = Finding(check="drift.x", feature="x", level="critical", reason="It moved.")
RARER = Finding(check="prevalence.y", feature="y", level="warning", reason="Rarer.")
DAY = Judgement(
    partition="2013-01-01", subject="a", headline="h", report="r", run="run", at="then", findings=(MOVED, RARER), quiet=True
)


def result(identity: str, state: str, severity: str) -> CheckResult:
    return CheckResult(
        id=identity, kind="Drift", column="x", severity=severity, state=state, observed="", expected="", reason="r", next_step=""
    )


def test_levels_are_what_a_check_did_to_the_verdict() -> None:
    """A failed warning is a warning, a warned critical check too; insufficient is unknown; information stays information."""
    checks = (
        result("a", "failed", "critical"),
        result("b", "failed", "warning"),
        result("c", "warning", "critical"),
        result("d", "insufficient", "critical"),
        result("e", "failed", "info"),
        result("f", "not run", "critical"),
        result("g", "ok", "critical"),
    )
    verdict = Verdict(
        state="failed", headline="", checks=checks, rows=1, profile_digest="", reference_digest=None, policy_digest=""
    )
    found, unknown = findings_of(verdict)

    assert [(item.check, item.level) for item in found] == [
        ("a", "critical"),
        ("b", "warning"),
        ("c", "warning"),
        ("e", "info"),
        ("f", "critical"),
    ]
    assert unknown == {"d"}


def test_two_runs_that_found_the_same_have_one_digest() -> None:
    """Clock, run, wording and order of what was found do not count; day, subject and severity do."""
    reworded = replace(MOVED, reason="It moved a little further.")
    same = replace(DAY, run="other", at="later", headline="other", findings=(RARER, reworded))
    others = [replace(DAY, partition="2013-01-02"), replace(DAY, subject="b"), replace(DAY, findings=(MOVED,))]
    others.append(replace(DAY, findings=(MOVED, replace(RARER, level="critical"))))

    assert same.digest == DAY.digest
    assert len({item.digest for item in (DAY, *others)}) == 5


def test_a_backfills_mark_names_its_run_and_a_daily_one_does_not() -> None:
    """So that another backfill that finds the same has its own summary; the digest is the same."""
    loud, again = replace(DAY, quiet=False), replace(DAY, run="another backfill")

    assert len({DAY.mark, loud.mark, again.mark}) == 3
    assert {digest_of_mark(item.mark) for item in (DAY, loud, again)} == {DAY.digest}
    assert replace(loud, run="another").mark == loud.mark
