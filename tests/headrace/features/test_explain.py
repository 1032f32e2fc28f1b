"""A training row explained: what there was, what was used, and what was rightly ignored."""

from __future__ import annotations

from headrace.features.explain import Fate, explain_row

from tests.headrace.features.test_leakage import LANDINGS, MADE_OF, WANTED, built


def told(source: int, number: int = 0) -> list[tuple[str, Fate, str]]:
    explanation = explain_row(WANTED, built().slice(number, 1).to_pylist()[0], MADE_OF)[source]
    return [(f"{entry.at:%d %H:%M}", entry.fate, entry.why) for entry in explanation.entries]


def test_a_snapshots_timeline_names_the_version_used_and_the_one_that_came_later() -> None:
    """Day 3 was used as it was known at noon; its settled version appeared two days after the label."""
    assert told(0) == [
        ("04 06:00", Fate.USED, "the newest day that could be read at label time"),
        ("04 12:00", Fate.LABEL, ""),
        ("06 06:00", Fate.TOO_LATE, "its day had ended at 2013-01-04 05:00:00Z, but nobody could read it at label time"),
    ]


def test_a_logs_timeline_names_the_row_used_the_late_old_one_and_the_one_still_in_the_air() -> None:
    """The row that happened last had not landed; of the two that had, the later event counts, not the later landing."""
    assert told(1) == [
        ("04 10:00", Fate.USED, "the newest that had arrived"),
        ("04 11:00", Fate.OLDER, "something newer had arrived, or it was withdrawn"),
        ("04 12:00", Fate.LABEL, ""),
        ("04 13:00", Fate.TOO_LATE, "had happened, but arrived 1:00:00 after the label"),
    ]
    assert LANDINGS.num_rows == 3


def test_a_label_that_saw_nothing_is_told_what_came_too_late() -> None:
    """At five in the morning no version was published; the first appeared an hour later."""
    explanation = explain_row(WANTED, built().slice(3, 1).to_pylist()[0], MADE_OF)[0]

    assert explanation.reason == "not_yet_arrived"
    assert [entry.fate for entry in explanation.entries] == [Fate.LABEL, Fate.TOO_LATE, Fate.TOO_LATE]
