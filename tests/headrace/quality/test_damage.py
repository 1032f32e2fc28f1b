"""Damage as incidents: opened once, counted on, closed by one clean look, told like any other."""

from __future__ import annotations

import dataclasses

from headrace.quality.damage import damaged_partitions, looked
from headrace.quality.incident_store import incidents_bytes, incidents_from
from headrace.quality.incidents import Incidents
from headrace.quality.message import Place, alert
from headrace.quality.routing import Owners, due
from headrace.spec.alerts import AlertRoute

NIGHT, NEXT, LATER = (f"2026-02-0{n}T03:00:00Z" for n in (1, 2, 3))
ROUTE = AlertRoute(name="mail", channel="smtp", connection="mail", to=("ops@example.com",))
PLACE = Place(name="flights", run="http://run", report="", again="headrace verify flights")


def test_a_damaged_partition_opens_one_incident_and_counts_on() -> None:
    """Two partitions found on one night, one of them again on the next."""
    first = looked(Incidents(), broken={"b": "B is cut.", "a": "A is flipped."}, right=["c"], at=NIGHT)
    second = looked(first, broken={"a": "A is gone."}, right=[], at=NEXT)

    assert [(one.number, one.feature, one.level, one.opened_at) for one in first.open] == [
        (1, "a", "critical", NIGHT),
        (2, "b", "critical", NIGHT),
    ]
    assert damaged_partitions(second) == ["a", "b"]
    assert [(one.count, one.reason) for one in second.open] == [(2, "A is gone."), (1, "B is cut.")]
    assert second.next_number == 3


def test_one_clean_look_closes_and_none_does_not() -> None:
    """A partition that was not looked at stays open; damage after that is an incident of its own."""
    state = looked(Incidents(), broken={"a": "A.", "b": "B."}, right=[], at=NIGHT)
    state = looked(state, broken={}, right=["a"], at=NEXT)

    assert damaged_partitions(state) == ["b"]
    assert [one.closed_at for one in state.incidents] == [NEXT, None]
    again = looked(state, broken={"a": "A once more."}, right=[], at=LATER)
    assert [(one.number, one.feature) for one in again.open] == [(2, "b"), (3, "a")]


def test_what_closes_nothing_and_opens_nothing_changes_nothing() -> None:
    """A night without news writes nothing."""
    state = looked(Incidents(), broken={"a": "A."}, right=[], at=NIGHT)

    assert looked(state, broken={}, right=["b"], at=NEXT) == state


def test_people_are_told_with_the_runbook_and_when_it_is_over() -> None:
    """The message names the damage and `damaged.md`; the closing one says why."""
    state = looked(Incidents(), broken={"2013-01-01": "shard x: found 3 bytes; expected 4."}, right=[], at=NIGHT)
    opened = alert(due(state, [ROUTE], Owners(dataset="team"))[0], "stored bytes are damaged", PLACE)
    assert opened.text.splitlines() == [
        "[critical] flights: stored bytes are damaged",
        "Opened #1 damaged (critical): shard x: found 3 bytes; expected 4. Runbook: docs/runbooks/damaged.md",
        "Run: http://run",
        "Run it again: headrace verify flights",
    ]

    told = dataclasses.replace(state, incidents=(dataclasses.replace(state.incidents[0], told={"mail": "critical"}),))
    closed = looked(told, broken={}, right=["2013-01-01"], at=NEXT)
    assert (
        "Closed #1 damaged: every byte of 2013-01-01 is right again."
        in alert(due(closed, [ROUTE], Owners(dataset="team"))[0], "fine", PLACE).text
    )


def test_the_state_survives_its_document() -> None:
    """Stored and read back: the same."""
    state = looked(Incidents(), broken={"a": "A."}, right=[], at=NIGHT)

    assert incidents_from("here", incidents_bytes(state)) == state
