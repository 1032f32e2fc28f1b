"""Versions print, parse, and are published by the rule."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from headrace.errors import RetryableError
from headrace.features.errors import SnapshotError, TooEarlyError
from headrace.features.versions import (
    Kind,
    SnapshotKey,
    SnapshotVersion,
    preliminary_key,
    rebuild_key,
    scheduled_keys,
    settled_key,
    version_to_publish,
)

from tests.headrace.features.build import at, version, view

DAY = date(2013, 1, 3)


def test_a_key_prints_and_parses_itself() -> None:
    """The partition key of the settled version of 3 January in New York."""
    key = settled_key(view(), DAY)

    assert str(key) == "2013-01-03.settled.20130106T050000Z"
    assert SnapshotKey.parse(str(key)) == key
    assert key.kind is Kind.SETTLED


@pytest.mark.parametrize(
    "text",
    [
        "2013-01-03", "2013-01-03.settled", "2013-01-03.late.20130106T050000Z", "2013-13-03.settled.20130106T050000Z",
        "2013-01-03.settled.20130106T050000", "2013-01-03.settled.20130106T250000Z", "", "all",
    ],
)  # fmt: skip
def test_what_str_would_not_print_does_not_parse(text: str) -> None:
    """The error repeats the text."""
    with pytest.raises(SnapshotError) as caught:
        SnapshotKey.parse(text)

    assert caught.value.found == repr(text)


def test_a_day_has_a_preliminary_and_a_settled_version() -> None:
    """At the cutoff and after settlement; only the latter when the view wants no preliminary one."""
    assert [str(key) for key in scheduled_keys(view(), DAY)] == [
        "2013-01-03.preliminary.20130104T050000Z",
        "2013-01-03.settled.20130106T050000Z",
    ]
    assert scheduled_keys(view(preliminary=False), DAY) == (settled_key(view(), DAY),)


def test_days_outside_the_declaration_have_no_version() -> None:
    """Before the start and after the end there is nothing to publish."""
    assert scheduled_keys(view(), date(2012, 12, 31)) == ()
    assert scheduled_keys(view(end=date(2013, 1, 2)), DAY) == ()


def test_a_day_before_the_system_ran_is_published_by_declaration() -> None:
    """K plus the declared delay, flagged synthetic, whatever the clock says."""
    key = preliminary_key(view(), DAY)

    found = version_to_publish(view(live_since=date(2013, 1, 4)), key, clock=at("2026-01-01T00:00"))

    assert found == SnapshotVersion(key=key, published_at=at("2013-01-04T06:00"), synthetic=True)
    assert version_to_publish(view(), key, clock=at("2027-01-01T00:00")) == found


def test_a_live_day_is_published_by_the_clock() -> None:
    """What the clock says, not synthetic."""
    key = preliminary_key(view(), DAY)

    found = version_to_publish(view(live_since=DAY), key, clock=at("2013-01-04T05:07:11.5"))

    assert found == SnapshotVersion(key=key, published_at=at("2013-01-04T05:07:11.5"), synthetic=False)


def test_a_published_version_keeps_its_publication() -> None:
    """A re-run next year changes nothing."""
    existing = version("2013-01-03.preliminary.20130104T050000Z", "2013-01-04T05:07:11.5")

    assert version_to_publish(view(live_since=DAY), existing.key, clock=at("2014-01-01T00:00"), existing=existing) is existing


@pytest.mark.parametrize("live_since", [None, DAY])
def test_a_clock_before_the_knowledge_time_refuses(live_since: date | None) -> None:
    """One microsecond early is too early, and waiting helps; exactly at K is in time."""
    key = settled_key(view(), DAY)
    with pytest.raises(TooEarlyError) as caught:
        version_to_publish(view(live_since=live_since), key, clock=key.knowledge - timedelta(microseconds=1))

    assert isinstance(caught.value, RetryableError)
    assert version_to_publish(view(live_since=live_since), key, clock=key.knowledge).published_at >= key.knowledge


def test_nothing_is_published_before_what_it_knows() -> None:
    """A version that claims to know the future does not exist."""
    with pytest.raises(SnapshotError, match="at or after the knowledge time"):
        version("2013-01-03.settled.20130106T050000Z", "2013-01-06T04:59:59.999999")


def test_a_rebuild_knows_more_than_the_settled_version() -> None:
    """Its knowledge time is explicit and later."""
    later = at("2013-01-06T05:00:01")

    assert str(rebuild_key(view(), DAY, later)) == "2013-01-03.rebuild.20130106T050001Z"
    with pytest.raises(SnapshotError):
        rebuild_key(view(), DAY, at("2013-01-06T05:00:00"))


def test_a_knowledge_time_has_whole_seconds() -> None:
    """The key prints seconds, so two keys must not differ by less."""
    with pytest.raises(SnapshotError, match="whole seconds"):
        SnapshotKey(day=DAY, kind=Kind.REBUILD, knowledge=at("2013-01-07T00:00:00.5"))
