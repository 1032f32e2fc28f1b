"""A run's report: merged from records, the same whatever order they come in."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from headrace.runs.binding import binding
from headrace.runs.errors import RunReportRefused
from headrace.runs.report import RunReport, merge
from headrace.stages import Spent, Stage

from tests.headrace.runs.records import FACTS, NOON, record, waited


def report(*records: object) -> RunReport:
    made = merge(FACTS, records)  # type: ignore[arg-type]
    assert made is not None
    return made


def test_it_prints_and_parses() -> None:
    """JSON values and back, nothing lost."""
    facts = replace(FACTS, queued=NOON, due=NOON)
    made = merge(facts, [record("plan", stages=waited(Stage.LIST, 0.5, bytes_in=3), error="x", waited_seconds=2.0)])
    assert made is not None
    made = replace(made, samples=914, shards=1, size_bytes=62205)

    assert RunReport.from_plain("here", made.plain()) == made


@pytest.mark.parametrize("damage", [{"format": 2}, {"facts": {}}, {"records": [{}]}, {"records": None}])
def test_what_cannot_be_read_is_refused_by_name(damage: dict[str, object]) -> None:
    """A newer format, a missing field, a record that is none."""
    with pytest.raises(RunReportRefused, match="here"):
        RunReport.from_plain("here", {**report(record()).plain(), **damage})


def test_the_order_of_records_does_not_matter_and_a_record_counts_once() -> None:
    """Tasks end in any order; a merge may see a record again."""
    records = [record("write", index, number) for index in range(4) for number in (1, 2)]
    shuffled = records + records[:3]
    random.Random(7).shuffle(shuffled)

    assert report(*shuffled) == report(*records)
    assert merge(FACTS, records[3:], report(*records[:4])) == report(*records)
    assert merge(FACTS, []) is None


def test_the_newest_try_of_each_instance_decides() -> None:
    """A failure that was mended is a retry, not a failure; one that was not is."""
    mended = report(record("write", 0, 1, state="retry"), record("write", 0, 2))
    broken = report(record("write", 0), record("write", 1, state="failed"))

    assert (mended.state, mended.retries, mended.lost_tries) == ("success", 1, [])
    assert broken.state == "failed"


def test_a_try_without_a_record_was_lost() -> None:
    """A killed worker writes nothing; the next try's number shows it."""
    assert report(record("write", 2, 3), record("write", 2, 1, state="retry")).lost_tries == ["write[2] try 2"]


def test_time_between_tasks_is_the_orchestrators() -> None:
    """plan 0-2, write[0] 5-9, write[1] 6-7, publish 10-11: idle 2-5 and 9-10."""
    made = report(
        record("plan", at=0, seconds=2),
        record("write", 0, at=5, seconds=4),
        record("write", 1, at=6, seconds=1),
        record("publish", at=10, seconds=1),
    )

    assert (made.seconds, made.between_seconds) == (11, 4)
    assert binding(made).parts["orchestration"] == 4


def test_waiting_off_the_worker_is_no_idle_time() -> None:
    """A deferred task that resumes at 30 s after 25 s of waiting leaves five seconds unexplained."""
    made = report(record("plan", at=0, seconds=0), record("settled", at=30, seconds=1, waited_seconds=25))

    assert (made.between_seconds, made.waited_seconds) == (5, 25)
    assert binding(made).line.startswith("Waiting for inputs binds (81% of the time)")


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"cpu_seconds": 8.0}, "computing"),
        ({"stages": waited(Stage.READ, 8.0)}, "reading"),
        ({"stages": waited(Stage.WRITE, 4.0) | waited(Stage.VERIFY, 4.0)}, "writing"),
        ({}, "the host"),
        ({"stages": waited(Stage.READ, 80.0), "cpu_seconds": 1.0}, "reading"),
    ],
)
def test_the_largest_part_binds(fields: dict[str, object], constraint: str) -> None:
    """Ten seconds on a worker, each time spent another way; threads' waiting is scaled to the wall."""
    made = binding(report(record(seconds=10, **fields)))

    assert made.constraint == constraint
    assert sum(made.parts.values()) == pytest.approx(10)


def test_stages_add_up_over_tries() -> None:
    """Seconds, bytes, times; first and last moment."""
    spent = Spent(seconds=1, cpu_seconds=0.5, times=2, bytes_in=10, first_at=5, last_at=6)
    made = report(
        record("write", 0, stages={Stage.READ: spent}), record("write", 1, stages={Stage.READ: replace(spent, last_at=9)})
    )

    assert made.stages[Stage.READ] == Spent(seconds=2, cpu_seconds=1, times=4, bytes_in=20, first_at=5, last_at=9)
