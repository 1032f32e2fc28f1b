"""Who is told what, when: at least a severity, by owner, once per change, again only when it did not go through."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from headrace.quality.gates import _GATES
from headrace.quality.incidents import Incidents, Quiet, observe, told
from headrace.quality.judgement import Finding, Judgement
from headrace.quality.message import Place, alert, runbook, summary
from headrace.quality.routing import Owners, channel_check, due, due_summary, owners_of
from headrace.spec.alerts import AlertRoute
from headrace.spec.errors import DeclarationError

from include.datasets.flights import FLIGHT_DELAY

SLACK = AlertRoute(name="slack", channel="slack", connection="c")
NIGHT = AlertRoute(name="night", channel="apprise", connection="n", at_least="critical", owners=("ops",))
DRIFT = Finding(check="drift.x", feature="x", level="critical", reason="It moved.")
OPS = Owners(dataset="ops")
WARNING = replace(DRIFT, level="warning")
RUNBOOKS = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
PLACE = Place(
    name="set 2013-01-01",
    run="http://ui/run",
    report="s3://lake/report.html",
    again="airflow dags clear set.build",
    approve="http://ui/approve",
    held=True,
)


def day(number: int, *findings: Finding, quiet: bool = False) -> Judgement:
    key = f"2013-01-{number:02d}"
    return Judgement(partition=key, subject="a", headline="h", report="r", run=key, at=key, findings=findings, quiet=quiet)


def tell(state: Incidents, routes: list[AlertRoute], owner: str) -> tuple[list[tuple[str, list[str]]], Incidents]:
    """What is told now, and the state after it."""
    said = due(state, routes, Owners(dataset=owner))
    for one in said:
        state = told(state, one.route.name, one.stages)
    return [(one.route.name, [item.change for item in one.news]) for one in said], state


def test_one_incident_is_opened_changed_and_closed_once_each() -> None:
    """Ten bad days, one message; a change, one; two clean days, one."""
    state, heard = Incidents(), []
    for judgement in [
        *(day(n, WARNING) for n in range(1, 11)),
        *(day(n, DRIFT) for n in range(11, 14)),
        day(14),
        day(15),
        day(16),
    ]:
        said, state = tell(observe(state, judgement), [SLACK], "ops")
        heard += said

    assert heard == [("slack", ["opened"]), ("slack", ["changed"]), ("slack", ["closed"])]


def test_severity_means_at_least() -> None:
    """A route for warnings hears of critical failures; one for critical failures hears of no warning."""
    assert tell(observe(Incidents(), day(1, DRIFT)), [SLACK, NIGHT], "ops")[0] == [("slack", ["opened"]), ("night", ["opened"])]
    assert tell(observe(Incidents(), day(1, WARNING)), [SLACK, NIGHT], "ops")[0] == [("slack", ["opened"])]


def test_who_was_told_of_a_failure_is_told_that_it_became_less() -> None:
    """Critical to warning reaches the route for critical failures, as a change; closing too."""
    _, state = tell(observe(Incidents(), day(1, DRIFT)), [NIGHT], "ops")
    said, state = tell(observe(state, day(2, WARNING)), [NIGHT], "ops")
    closed, _ = tell(observe(observe(state, day(3)), day(4)), [NIGHT], "ops")

    assert (said, closed) == ([("night", ["changed"])], [("night", ["closed"])])


def test_owners_hear_of_their_own() -> None:
    """A route with owners takes only theirs."""
    assert tell(observe(Incidents(), day(1, DRIFT)), [NIGHT], "others")[0] == []


def test_two_owners_each_get_theirs_and_only_theirs() -> None:
    """One run, three incidents: the set's owner hears of all in one message, the view's of its feature alone, a stranger of nothing."""
    set_route, view_route, stranger = (
        AlertRoute(name=name, channel="slack", connection=name, owners=(name,)) for name in ("labels", "views", "strangers")
    )
    label = Finding(check="prevalence.y", feature="y", level="critical", reason="Rarer.")
    schema = Finding(check="schema", feature="", level="critical", reason="Gone.")
    state = observe(Incidents(), day(1, WARNING, label, schema))
    said = due(state, [set_route, view_route, stranger], Owners(dataset="labels", features={"x": "views"}))

    assert [(one.route.name, [item.incident.check for item in one.news], one.partial) for one in said] == [
        ("labels", ["prevalence.y", "schema", "drift.x"], False),
        ("views", ["drift.x"], True),
    ]
    headline = "Blocked: 2 critical failures. y: Rarer."
    assert alert(said[0], headline, PLACE).subject == f"[critical] set 2013-01-01: {headline}"
    assert alert(said[1], headline, PLACE).subject == "[warning] set 2013-01-01: drift.x: It moved."
    assert "prevalence" not in alert(said[1], headline, PLACE).text


def test_a_feature_belongs_to_its_views_owner() -> None:
    """Read from the declaration: the view's features to the view's owner, everything else to the training set's."""
    view = replace(FLIGHT_DELAY.views[0], owner="carriers")
    owners = owners_of(replace(FLIGHT_DELAY, views=(view,)))

    assert owners.of(view.features[0]) == {"flight-data", "carriers"}
    assert owners.of("label") == owners.of("") == {"flight-data"}
    assert owners.all == {"flight-data", "carriers"}


def test_what_did_not_go_through_is_due_again() -> None:
    """Nothing was told, so the same is due at the next run; what one route heard is not repeated to it."""
    state = observe(Incidents(), day(1, DRIFT))
    state = told(state, "slack", {1: "critical"})
    later = observe(state, day(2, DRIFT))

    assert [one.route.name for one in due(later, [SLACK, NIGHT], OPS)] == ["night"]


def test_a_backfill_says_nothing_but_its_summary() -> None:
    """No news; the days of at least the route's severity in the summary, by day."""
    state = observe(observe(Incidents(), day(2, WARNING, quiet=True)), day(1, DRIFT, quiet=True))

    assert due(state, [SLACK, NIGHT], OPS) == []
    assert [item.partition for item in due_summary(state, SLACK, "ops")] == ["2013-01-01", "2013-01-02"]
    assert [item.partition for item in due_summary(state, NIGHT, "ops")] == ["2013-01-01"]


def test_a_message_has_verdict_link_and_command() -> None:
    """Subject with the verdict line, what opened, report, run, the command, the way to approve."""
    one = due(observe(Incidents(), day(1, DRIFT)), [SLACK], OPS)[0]

    assert alert(one, "Blocked: 1 critical failure. x: It moved.", PLACE).text.splitlines() == [
        "[critical] set 2013-01-01: Blocked: 1 critical failure. x: It moved.",
        "Opened #1 drift.x (critical): It moved. Runbook: docs/runbooks/drift.md",
        "Held: this day is not released; what was released before stays in use.",
        "Report: s3://lake/report.html",
        "Run: http://ui/run",
        "Run it again: airflow dags clear set.build",
        "Release it anyway: http://ui/approve (your name and reason are kept)",
    ]


def test_what_is_told_late_is_named_by_itself() -> None:
    """A clean run that tells what another could not does not put its own verdict over it."""
    one = due(observe(Incidents(), day(1, DRIFT)), [SLACK], OPS)[0]

    subject = alert(one, "All clear: 5 checks passed.", replace(PLACE, held=False, bad=False)).subject
    assert subject == "[critical] set 2013-01-01: drift.x has been wrong since 2013-01-01"


def test_many_failures_are_one_bounded_message() -> None:
    """Two hundred features make one message of ten lines and a count."""
    findings = [replace(DRIFT, check=f"drift.x{n}", feature=f"x{n}", reason="r" * 5000) for n in range(200)]
    said = due(observe(Incidents(), day(1, *findings)), [SLACK], OPS)
    message = alert(said[0], "h" * 5000, PLACE)

    assert len(said) == 1
    assert len(said[0].stages) == 200
    assert "... and 190 more on the page." in message.lines
    assert len(message.text) < 6_000


def test_text_from_data_is_carried_and_never_interpreted() -> None:
    """Markup and templates in a level's name reach mail escaped, and one line stays one line."""
    evil = replace(DRIFT, reason="<script>{{ var.value.secret }}</script>\nFake: line")
    message = alert(due(observe(Incidents(), day(1, evil)), [SLACK], OPS)[0], "a\nb", PLACE)

    assert "{{ var.value.secret }}" in message.text
    assert "&lt;script&gt;" in message.html
    assert "<script>" not in message.html
    assert message.subject == "[critical] set 2013-01-01: a b"
    assert '<a href="http://ui/run">http://ui/run</a>' in message.html


def test_the_summary_counts_and_bounds() -> None:
    """Held and flagged days by number, the first ten by name, the command for one."""
    days = [
        Quiet(partition=f"2013-01-{n:02d}", headline="h", report="r", run="x", at="t", level="critical" if n < 12 else "warning")
        for n in range(1, 14)
    ]
    message = summary(days, "set", "airflow dags clear set.build")

    assert message.subject == "[critical] set: backfill with 13 bad days, 11 held and 2 flagged"
    assert len(message.lines) == 12
    assert message.lines[-2:] == ("... and 3 more: headrace quality held set", "Run one again: airflow dags clear set.build")


@pytest.mark.parametrize(
    ("check", "page"), [("drift.x.psi", "drift.md"), ("drift.x@origin=JFK", "drift.md"), ("schema", "schema.md")]
)
def test_each_check_has_a_runbook(check: str, page: str) -> None:
    """By the first word of its identity, and the page is there."""
    assert runbook(check) == page
    assert (RUNBOOKS / page).is_file()


def test_every_kind_of_check_has_its_runbook() -> None:
    """What an alert points to exists, for each check there is."""
    words = {"".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_") for kind in _GATES}

    assert len(words) == len(_GATES)
    assert {path.stem for path in RUNBOOKS.glob("*.md")} >= {*words, channel_check(SLACK).partition(".")[0]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Slack!"),
        ("channel", "pager"),
        ("connection", ""),
        ("at_least", "error"),
        ("owners", ["ops"]),
        ("to", ("a@b",)),
    ],
)
def test_a_bad_route_is_refused_at_the_door(field: str, value: object) -> None:
    """Field, value and what is allowed."""
    with pytest.raises(DeclarationError, match=f"AlertRoute.*{field}"):
        replace(SLACK, **{field: value})


def test_mail_needs_recipients() -> None:
    """Without any it would go nowhere."""
    with pytest.raises(DeclarationError, match="to"):
        AlertRoute(name="mail", channel="smtp", connection="c")
