"""What a run waits for, computed from declarations and publications."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
from headrace.features.cutoff import day_interval, to_micros
from headrace.features.needs import label_interval, labels_known_at, log_days, snapshot_needs
from headrace.features.training_rows import versions_at
from headrace.features.versions import SnapshotKey, SnapshotVersion, declared_version, is_declared, scheduled_keys
from headrace.spec.cutoff import Cutoff
from headrace.spec.label_set import LabelSet
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.headrace.features.build import at, training_set, version, view


def day_of_january(*days: int) -> tuple[date, ...]:
    return tuple(date(2013, 1, day) for day in days)


def test_a_snapshot_reads_the_days_of_its_longest_window() -> None:
    """Seven days up to and including its own."""
    assert log_days(view(), date(2013, 1, 10)) == day_of_january(4, 5, 6, 7, 8, 9, 10)


def test_days_before_the_start_are_absent_not_missing() -> None:
    """Nobody waits for December."""
    assert log_days(view(), date(2013, 1, 2)) == day_of_january(1, 2)
    assert log_days(view(), date(2012, 12, 31)) == ()


def test_a_business_day_reaches_into_one_more_date() -> None:
    """From five on the 8th to five on the 10th are three dates; until four in the morning it is the next one."""
    five = view(windows=(2,), cutoff=Cutoff(timezone="America/New_York", cut_at="17:00"))
    night = view(windows=(1,), cutoff=Cutoff(timezone="America/New_York", cut_at="28:00"))

    assert log_days(five, date(2013, 1, 10)) == day_of_january(8, 9, 10)
    assert log_days(night, date(2013, 1, 10)) == day_of_january(10, 11)


def test_a_night_that_falls_back_needs_the_date_before() -> None:
    """St. John's 2006-10-29 holds an hour whose local date is the 28th."""
    there = view(windows=(1,), cutoff=Cutoff(timezone="America/St_Johns"), start=date(2006, 1, 1))

    assert log_days(there, date(2006, 10, 29)) == (date(2006, 10, 28), date(2006, 10, 29))


def test_the_labels_of_a_day_need_the_versions_that_some_label_may_see() -> None:
    """Published an hour after midnight: before one o'clock the day before yesterday is the newest, then yesterday."""
    interval = day_interval(view().cutoff, date(2013, 1, 7))

    needs = snapshot_needs(view(), interval)

    assert [str(item.key) for item in needs.versions] == [
        "2013-01-05.preliminary.20130106T050000Z",
        "2013-01-06.preliminary.20130107T050000Z",
    ]
    assert needs.missing == tuple(item.key for item in needs.versions)
    assert all(item.synthetic for item in needs.versions)


def test_without_preliminary_versions_the_walk_goes_back_over_the_settlement() -> None:
    """Settled two days later plus an hour: day 4 becomes visible at one o'clock on day 7, until then day 3 is."""
    needs = snapshot_needs(view(preliminary=False), day_interval(view().cutoff, date(2013, 1, 7)))

    assert [item.key.day for item in needs.versions] == list(day_of_january(3, 4))


def test_a_settled_version_that_takes_over_during_the_day_is_needed_too() -> None:
    """Settled two hours after the day: the labels see day 5 settled, then day 6 preliminary, then day 6 settled."""
    quick = view(cutoff=Cutoff(timezone="America/New_York", settlement=timedelta(hours=2)))

    needs = snapshot_needs(quick, day_interval(quick.cutoff, date(2013, 1, 7)))

    assert [(item.key.day.day, str(item.key.kind)) for item in needs.versions] == [
        (5, "settled"), (6, "preliminary"), (6, "settled"),
    ]  # fmt: skip


def test_a_version_that_a_better_one_always_hides_is_not_needed() -> None:
    """Day 4 settles while day 6 is there already."""
    needs = snapshot_needs(view(), day_interval(view().cutoff, date(2013, 1, 7)))

    assert "settled" not in {str(item.key.kind) for item in needs.versions}


def test_a_long_delay_reaches_further_back() -> None:
    """Published 50 hours after the cutoff, day 4 takes over from day 3 during the 7th."""
    slow = view(publish_delay=timedelta(hours=50))

    needs = snapshot_needs(slow, day_interval(slow.cutoff, date(2013, 1, 7)))

    assert [(item.key.day.day, str(item.key.kind)) for item in needs.versions] == [(3, "preliminary"), (4, "preliminary")]


def test_what_is_published_is_not_missing() -> None:
    """Only the other one is waited for."""
    done = version("2013-01-05.preliminary.20130106T050000Z", "2013-01-06T06:00", synthetic=True)

    needs = snapshot_needs(view(), day_interval(view().cutoff, date(2013, 1, 7)), [done])

    assert [str(key) for key in needs.missing] == ["2013-01-06.preliminary.20130107T050000Z"]


def test_a_live_version_that_is_not_there_will_come_after_the_labels() -> None:
    """The clock is past them: the walk goes on to what is published, and waits for nothing."""
    live = view(live_since=date(2013, 1, 5))
    done = version("2013-01-05.settled.20130108T050000Z", "2013-01-08T06:00")
    older = version("2013-01-04.preliminary.20130105T050000Z", "2013-01-05T06:00", synthetic=True)

    needs = snapshot_needs(live, day_interval(live.cutoff, date(2013, 1, 7)), [done, older])

    assert [str(item.key) for item in needs.versions] == [
        "2013-01-04.preliminary.20130105T050000Z",
        "2013-01-04.settled.20130107T050000Z",
    ]
    assert [str(key) for key in needs.missing] == ["2013-01-04.settled.20130107T050000Z"]


def test_the_first_days_of_a_view_need_nothing_before_it() -> None:
    """Labels of the first day see no snapshot at all."""
    assert snapshot_needs(view(), day_interval(view().cutoff, date(2013, 1, 1))).versions == ()


def test_labels_are_joined_when_they_are_mature() -> None:
    """The end of their local date plus the declared maturity."""
    maturity = LabelSet(
        name="delayed", dataset="flights", rows="some.module:labels", entity=("carrier",), maturity=timedelta(hours=30)
    )

    assert labels_known_at(training_set(labels=maturity), date(2013, 1, 3)) == at("2013-01-05T11:00")


def test_a_skipped_date_has_no_labels() -> None:
    """Samoa, 30 December 2011."""
    samoa = view(cutoff=Cutoff(timezone="Pacific/Apia"), start=date(2011, 1, 1))

    assert label_interval(training_set(samoa), date(2011, 12, 30)) is None
    assert labels_known_at(training_set(samoa), date(2011, 12, 30)) is None


publications = st.lists(
    st.tuples(st.integers(1, 12), st.sampled_from(["preliminary", "settled"]), st.integers(0, 100)),
    max_size=16,
    unique_by=lambda item: item[:2],
)


@given(publications, st.integers(1, 13), st.sampled_from([None, 1, 6, 13]), st.integers(0, 80), st.booleans())
@settings(max_examples=300, deadline=None)
def test_what_is_needed_is_enough_and_nothing_more(
    raw: list[tuple[int, str, int]], day: int, live_from: int | None, delay: int, preliminary: bool
) -> None:
    """With only the needed versions every label of the day sees the version it sees among all of them."""
    declared = view(
        live_since=None if live_from is None else date(2013, 1, live_from),
        publish_delay=timedelta(hours=delay),
        preliminary=preliminary,
    )
    done: dict[SnapshotKey, SnapshotVersion] = {}
    for number, kind, hours in raw:
        for key in scheduled_keys(declared, date(2013, 1, number)):
            if key.kind == kind and not is_declared(declared, key.day):
                done[key] = SnapshotVersion(key=key, published_at=key.knowledge + timedelta(hours=hours), synthetic=False)
    everything = done | {
        key: declared_version(declared, key)
        for number in range(1, 14)
        for key in scheduled_keys(declared, date(2013, 1, number))
        if is_declared(declared, key.day)
    }
    interval = day_interval(declared.cutoff, date(2013, 1, day))
    moments = {interval.start, *(item.published_at for item in everything.values())}
    times = sorted(moment for moment in moments if moment in interval)
    asked = np.array([to_micros(time) for time in times], dtype=np.int64)

    needs = snapshot_needs(declared, interval, done.values())

    all_versions = list(everything.values())
    expected = [None if n < 0 else all_versions[n] for n in versions_at(all_versions, asked)]
    found = [None if n < 0 else needs.versions[n] for n in versions_at(needs.versions, asked)]
    assert found == expected
    assert set(needs.missing) == {item.key for item in needs.versions} - set(done)
    assert set(needs.versions) == {item for item in expected if item is not None}
