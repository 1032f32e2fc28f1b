"""Incidents: one per check and feature, silent on retries, closed by two clean runs of days that are not older."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.errors import DocumentRefused
from headrace.quality.channels import channel_failed, channel_worked
from headrace.quality.incident_store import change_incidents, incidents_bytes, incidents_from, read_incidents
from headrace.quality.incidents import (
    Claim,
    Incidents,
    acknowledge,
    claim,
    observe,
    summarised,
    told,
)
from headrace.quality.judgement import Finding, Judgement
from headrace.spec.alerts import AlertRoute
from hypothesis import given
from hypothesis import strategies as st

DRIFT = Finding(check="drift.x", feature="x", level="critical", reason="It moved.")
PREVALENCE = Finding(check="prevalence.y", feature="y", level="warning", reason="Rarer.")
SLACK = AlertRoute(name="slack", channel="slack", connection="c")


def day(number: int, *findings: Finding, subject: str = "a", **kwargs: object) -> Judgement:
    key = f"2013-01-{number:02d}"
    return Judgement(
        partition=key, subject=subject, headline="h", report="r", run=f"run {key}", at=f"at {key}", findings=findings, **kwargs
    )


def after(*judgements: Judgement) -> Incidents:
    state = Incidents()
    for judgement in judgements:
        state = observe(state, judgement)
    return state


def test_the_first_failure_opens_and_the_next_counts_on() -> None:
    """One incident with first and last day, numbered from one."""
    state = after(day(1, DRIFT), day(2, DRIFT), day(3, DRIFT, PREVALENCE))

    assert [(i.number, i.check, i.first, i.last, i.count, i.stage) for i in state.incidents] == [
        (1, "drift.x", "2013-01-01", "2013-01-03", 3, "critical"),
        (2, "prevalence.y", "2013-01-03", "2013-01-03", 1, "warning"),
    ]


def test_two_clean_runs_close_it_and_one_does_not() -> None:
    """Then the same check opens a new one under a new number."""
    one = after(day(1, DRIFT), day(2))
    two = observe(one, day(3))
    again = observe(two, day(4, DRIFT))

    assert [i.closed_at for i in one.incidents] == [None]
    assert [i.closed_at for i in two.incidents] == ["at 2013-01-03"]
    assert [(i.number, i.is_open) for i in again.incidents] == [(1, False), (2, True)]


def test_a_clean_run_between_two_bad_ones_starts_the_count_anew() -> None:
    """Bad, clean, bad, clean stays open."""
    assert [i.is_open for i in after(day(1, DRIFT), day(2), day(3, DRIFT), day(4)).incidents] == [True]


def test_clean_days_before_the_last_bad_one_close_nothing() -> None:
    """A backfill of good old days says nothing about today."""
    assert [i.is_open for i in after(day(20, DRIFT), day(1), day(2), day(3)).incidents] == [True]


def test_a_mended_day_and_the_next_close_it() -> None:
    """The same day judged clean with other data is a clean run."""
    assert [i.is_open for i in after(day(5, DRIFT), day(5, subject="mended"), day(6)).incidents] == [False]


def test_too_little_data_neither_closes_nor_counts() -> None:
    """An insufficient check is no clean one."""
    quiet = frozenset({"drift.x"})
    assert [i.clean for i in after(day(1, DRIFT), day(2, unknown=quiet), day(3, unknown=quiet)).incidents] == [0]


def test_a_change_of_severity_keeps_the_incident() -> None:
    """Warning becomes critical under the same number; an older day does not lower it again."""
    warning = replace(DRIFT, level="warning")
    state = after(day(2, warning), day(3, DRIFT), day(1, warning))

    assert [(i.number, i.level, i.first, i.count) for i in state.incidents] == [(1, "critical", "2013-01-01", 3)]


def test_a_retry_changes_nothing() -> None:
    """The same candidate with the same outcome gives the very same state, whatever the clock says."""
    state = after(day(1, DRIFT), day(2, PREVALENCE))
    retry = replace(day(2, PREVALENCE), at="later", run="another run")

    assert observe(state, retry) is state


def test_a_clean_run_where_nothing_is_wrong_writes_nothing() -> None:
    """The usual day costs no state."""
    assert after(day(1), day(2)) == Incidents()


def test_a_backfills_days_wait_for_the_summary() -> None:
    """Incidents open quietly, each bad day joins the backlog; a loud day makes the incident loud."""
    state = after(day(1, DRIFT, quiet=True), day(2, PREVALENCE, quiet=True))
    loud = observe(state, day(9, DRIFT))

    assert [(i.check, i.quiet) for i in state.incidents] == [("drift.x", True), ("prevalence.y", True)]
    assert [(q.partition, q.level) for q in state.backlog] == [("2013-01-01", "critical"), ("2013-01-02", "warning")]
    assert [(i.check, i.quiet) for i in loud.incidents] == [("drift.x", False), ("prevalence.y", True)]
    assert summarised(loud, state.backlog[:1]).backlog == state.backlog[1:]


def test_acknowledging_says_who_and_only_open_ones_can_be() -> None:
    """Name, time and remark stay; a closed or unknown number is refused."""
    state = acknowledge(after(day(1, DRIFT)), 1, who="ada", at="now", remark="on it")

    assert [(i.acknowledged_by, i.acknowledged_at, i.remark) for i in state.incidents] == [("ada", "now", "on it")]
    with pytest.raises(KeyError):
        acknowledge(state, 2, who="ada", at="now")
    with pytest.raises(KeyError):
        acknowledge(observe(observe(state, day(2)), day(3)), 1, who="ada", at="now")


def test_parallel_runs_tell_one_after_another() -> None:
    """A route is taken until it is given back or its time is over; the same run may take it again."""
    state = claim(after(day(1, DRIFT)), "slack", run="a", now="10:00", until="10:01")

    assert claim(state, "slack", run="b", now="10:00", until="10:02") is state
    assert claim(state, "slack", run="b", now="10:01", until="10:02").claims == {"slack": Claim(run="b", until="10:02")}
    assert claim(state, "slack", run="a", now="10:00", until="10:05").claims == {"slack": Claim(run="a", until="10:05")}
    assert claim(state, "mail", run="b", now="10:00", until="10:02").claims["mail"].run == "b"
    assert told(state, "slack", {1: "critical"}).claims == {}


def test_a_dead_route_is_an_incident_that_two_messages_close() -> None:
    """Data closes it never, messages that go through do."""
    dead = channel_failed(after(day(1, DRIFT)), SLACK, "ConnectionRefusedError", at="then")
    clean = observe(observe(observe(dead, day(2)), day(3)), day(4))
    works = channel_worked(channel_worked(clean, SLACK, at="t1"), SLACK, at="t2")

    assert [(i.check, i.level, i.is_open) for i in clean.incidents] == [
        ("drift.x", "critical", False),
        ("alert_route.slack", "critical", True),
    ]
    assert [i.closed_at for i in works.incidents if i.check == "alert_route.slack"] == ["t2"]
    assert channel_worked(works, SLACK, at="t3") is works


FINDINGS = st.lists(
    st.builds(
        Finding,
        check=st.sampled_from(["a.x", "b.y", "c.z"]),
        feature=st.just("x"),
        level=st.sampled_from(["info", "warning", "critical"]),
        reason=st.just("r"),
    ),
    unique_by=lambda item: item.check,
    max_size=3,
)
JUDGEMENTS = st.lists(
    st.builds(
        lambda number, findings, subject, quiet: day(number, *findings, subject=subject, quiet=quiet),
        st.integers(1, 9),
        FINDINGS,
        st.sampled_from("ab"),
        st.booleans(),
    ),
    max_size=25,
)


@given(judgements=JUDGEMENTS)
def test_laws_of_every_history(judgements: list[Judgement]) -> None:
    """Whatever the order: one open incident per check, numbers once, nothing closed without two clean runs, retries are silent."""
    state = Incidents()
    for judgement in judgements:
        before, state = state, observe(state, judgement)
        assert observe(state, judgement) is state
        keys = [item.key for item in state.open]
        assert len(keys) == len(set(keys))
        numbers = [item.number for item in state.incidents]
        assert numbers == sorted(set(numbers))
        assert all(number < state.next_number for number in numbers)
        closed = {item.number for item in before.open} - {item.number for item in state.open}
        assert closed.isdisjoint({item.number for item in state.open})
        bad = {item.check for item in judgement.findings}
        for item in state.incidents:
            assert item.first <= item.last
            if item.number in closed:
                assert item.clean == 2
                assert item.check not in bad
                assert judgement.partition >= item.last
        assert bad <= {item.check for item in state.open} or state is before


@given(judgements=JUDGEMENTS)
def test_the_stored_form_is_read_back_equal(judgements: list[Judgement]) -> None:
    """Bytes and back, for every state."""
    state = told(after(*judgements), "slack", {1: "critical"})

    assert incidents_from("there", incidents_bytes(state)) == state


def test_parallel_runs_lose_no_finding(lake: LocalStore) -> None:
    """Eight writers at once: eight incidents, eight numbers."""
    findings = [replace(DRIFT, check=f"drift.x{n}") for n in range(8)]

    def write(n: int) -> None:
        change_incidents(lake, "d", "gate", partial(observe, judgement=day(n + 1, findings[n])))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))

    state = read_incidents(lake, "d", "gate")
    assert sorted(item.check for item in state.incidents) == [item.check for item in findings]
    assert [item.number for item in state.incidents] == list(range(1, 9))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"format":2,"next_number":1,"incidents":[],"judged":[],"backlog":[],"claims":{}}', b'{"format":1}']
)
def test_another_document_is_refused_by_name(lake: LocalStore, data: bytes) -> None:
    """Nothing is overwritten by a reader that does not understand it."""
    lake.put_new(layout.incidents("d", "gate"), data)

    with pytest.raises(DocumentRefused, match=r"d/incidents/gate\.json"):
        change_incidents(lake, "d", "gate", partial(observe, judgement=day(1, DRIFT)))
    assert lake.get(layout.incidents("d", "gate")).data == data


def test_each_backfill_has_its_own_summary_and_its_retries_have_none() -> None:
    """A day found bad, told; backfilled and still bad: in the summary, once though the run is tried again; backfilled again: again."""
    told_before = after(day(1, DRIFT))
    first = replace(day(1, DRIFT, quiet=True), run="first")
    once = observe(told_before, first)
    retried = observe(once, first)
    sent = summarised(retried, retried.backlog)
    again = observe(sent, replace(first, run="second"))

    assert [item.run for item in once.backlog] == ["first"]
    assert retried is once
    assert observe(sent, first) is sent
    assert [item.run for item in again.backlog] == ["second"]
    assert again.incidents == told_before.incidents
    assert observe(again, day(1, DRIFT)) is again


def test_b64_one_broken_document_is_one_datasets_trouble(lake: LocalStore) -> None:
    """B64: the incidents of one dataset cannot be read, by name; those of the next open, and are read, as ever."""
    lake.put_new(layout.incidents("broken", "gate"), b"{")
    with pytest.raises(DocumentRefused, match="broken"):
        read_incidents(lake, "broken", "gate")
    change_incidents(lake, "sound", "gate", partial(observe, judgement=day(1, DRIFT)))

    assert [item.check for item in read_incidents(lake, "sound", "gate").open] == ["drift.x"]
    assert lake.get(layout.incidents("broken", "gate")).data == b"{"
