"""Records and reports in a lake."""

from __future__ import annotations

import json
from dataclasses import replace

from headrace.lake.local import LocalStore
from headrace.runs.stored import find_run, last_reports, put_record, put_report, run_name

from tests.headrace.runs.records import FACTS, record

NAME = run_name(FACTS.dag, FACTS.run_id)


def keys(lake: LocalStore) -> list[str]:
    return [info.key for info in lake.list()]


def test_records_become_one_report_beside_the_partition(lake: LocalStore) -> None:
    """The records go only when the report that holds them is there."""
    for one in (record("plan"), record("write", 0), record("write", 1)):
        put_record(lake, FACTS, one)
    assert len(keys(lake)) == 3

    made = put_report(lake, FACTS)

    assert made is not None
    assert [one.name for one in made.records] == ["plan", "write[0]", "write[1]"]
    assert keys(lake) == [f"flights/runs/2013-01-03/{NAME}.json"]
    assert find_run(lake, "flights", "2013-01-03", NAME) == made


def test_a_run_that_goes_on_keeps_its_earlier_tries(lake: LocalStore) -> None:
    """Failed, cleared, done: one report with both tries; late records count before anybody merges them."""
    put_record(lake, FACTS, record("write", 0, 1, state="failed", error="StoreUnavailable"))
    put_report(lake, FACTS)
    put_record(lake, FACTS, record("write", 0, 2))
    seen = find_run(lake, "flights", "2013-01-03", NAME)
    put_report(lake, FACTS)

    assert seen is not None
    assert (seen.state, len(seen.records)) == ("success", 2)
    assert find_run(lake, "flights", "2013-01-03", NAME) == seen


def test_the_newest_runs_come_first_and_damage_is_left_out(lake: LocalStore) -> None:
    """A measurement that cannot be read is as good as none."""
    for number in range(3):
        facts = replace(FACTS, run_id=f"run {number}")
        put_record(lake, facts, record("plan"))
        put_report(lake, facts)
    put_record(lake, replace(FACTS, run_id="under way"), record("plan"))
    lake.put_new("flights/runs/2013-01-03/ffffffffffffffff.json", b"{")
    lake.put_new("flights/runs/2013-01-04/ffffffffffffffff.json", json.dumps({"format": 9}).encode())

    assert [one.facts.run_id for one in last_reports(lake, "flights", limit=4)] == ["run 2", "run 1"]
    assert len(last_reports(lake, "flights", limit=9, partition="2013-01-03")) == 3
    assert find_run(lake, "flights", "2013-01-04", "0000000000000000") is None


def test_nothing_left_makes_no_report(lake: LocalStore) -> None:
    """A run whose tasks left nothing has no report."""
    assert put_report(lake, FACTS) is None
    assert keys(lake) == []
