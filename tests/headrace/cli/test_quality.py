"""`headrace quality`: a day's verdict, what is held, what is wrong, who takes it on."""

from __future__ import annotations

from functools import partial

import pytest
from headrace.cli.quality import NotDeclared, app
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.errors import NotPublished
from headrace.quality.damage import looked
from headrace.quality.held import HeldCandidate, record_held
from headrace.quality.incident_store import change_incidents
from headrace.quality.incidents import observe
from headrace.quality.judgement import Finding, Judgement
from headrace.quality.stored import store_verdict
from headrace.quality.verdict import CheckResult, Verdict
from typer.testing import CliRunner

DIGEST = "a" * 64


def run(lake: LocalStore, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        app, [*arguments, "--lake", lake.uri], env={"COLUMNS": "300", "NO_COLOR": "1"}, catch_exceptions=False
    )
    return result.exit_code, result.output


def verdict(state: str) -> Verdict:
    check = CheckResult(
        id="drift.x",
        kind="Drift",
        column="x",
        severity="critical",
        state=state,
        observed="PSI 0.9",
        expected="PSI up to 0.1",
        reason="" if state == "ok" else "The distribution moved.",
        next_step="" if state == "ok" else "Compare the histograms.",
    )
    return Verdict(
        state=state,
        headline="All clear: 1 checks passed." if state == "ok" else "Blocked: 1 critical failure.",
        checks=(check,),
        rows=7,
        profile_digest="p",
        reference_digest=None,
        policy_digest="q",
    )


def test_show_prints_the_last_day_and_says_by_its_exit_code_whether_it_blocks(lake: LocalStore) -> None:
    """Line, check, reason with the next step, page; 1 for a block, 0 for a pass."""
    store_verdict(lake, layout.verdict("set", "2013-01-01", DIGEST), verdict("ok"), {})
    store_verdict(lake, layout.verdict("set", "2013-01-02", DIGEST), verdict("failed"), {})
    code, text = run(lake, "show", "set")

    assert code == 1
    for part in ("set 2013-01-02", "Blocked: 1 critical failure.", "drift.x", "The distribution moved. Compare the histograms."):
        assert part in text
    assert f"Page: {lake.uri}/set/verdicts/2013-01-02/{DIGEST}.html" in text
    assert run(lake, "show", "set", "2013-01-01")[0] == 0


def test_show_of_a_day_nobody_judged_says_what_to_run(lake: LocalStore) -> None:
    """An error with the DAG's name."""
    with pytest.raises(NotPublished, match=r"set\.build"):
        run(lake, "show", "set")


def test_held_lists_candidates(lake: LocalStore) -> None:
    """Day, outcome and why; nothing to list is said."""
    assert "Nothing is held." in run(lake, "held", "set")[1]
    record_held(
        lake,
        HeldCandidate(
            dataset="set",
            partition="2013-01-02",
            manifest=DIGEST,
            headline="Blocked: [x]",
            checks=("drift.x",),
            held_at="2013",
            run="r",
        ),
    )

    assert "2013-01-02" in run(lake, "held", "set")[1]
    assert "Blocked: [x]" in run(lake, "held", "set")[1]


def test_an_incident_is_listed_and_taken_on(lake: LocalStore) -> None:
    """By number and name; an unknown number is refused."""
    finding = Finding(check="drift.x", feature="x", level="critical", reason="It moved.")
    judgement = Judgement(partition="2013-01-02", subject="a", headline="h", report="r", run="r", at="t", findings=(finding,))
    change_incidents(lake, "set", "gate", partial(observe, judgement=judgement))
    run(lake, "acknowledge", "set", "1", "--who", "ada", "--remark", "on it")

    text = run(lake, "incidents", "set")[1]
    for part in ("#1", "critical", "drift.x", "ada", "It moved."):
        assert part in text
    with pytest.raises(NotDeclared, match="#2"):
        run(lake, "acknowledge", "set", "2")


def test_damage_has_its_own_list_and_an_unknown_stream_is_refused(lake: LocalStore) -> None:
    """`--stream lake` shows what verifying found; the gate's list does not."""
    change_incidents(lake, "set", "lake", partial(looked, broken={"2013-01-02": "Cut short."}, right=[], at="t"))
    run(lake, "acknowledge", "set", "1", "--who", "ada", "--stream", "lake")

    text = run(lake, "incidents", "set", "--stream", "lake")[1]
    for part in ("#1", "damaged", "ada", "Cut short."):
        assert part in text
    assert "Nothing is or was wrong." in run(lake, "incidents", "set")[1]
    with pytest.raises(NotDeclared, match="gate, monitor, lake"):
        run(lake, "incidents", "set", "--stream", "sea")
