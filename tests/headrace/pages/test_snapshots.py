"""*Snapshots* over real versions: what each knew, when it counts as published, and how much came too late."""

from __future__ import annotations

from datetime import timedelta

import pytest
from headrace.features.materialise import materialise
from headrace.features.versions import preliminary_key, scheduled_keys
from headrace.lake.local import LocalStore
from headrace.pages.catalogue import Entry, catalogue
from headrace.pages.links import Links
from headrace.pages.reads import Reads
from headrace.pages.snapshots import view_page
from headrace.spec.load import Declarations

from tests.headrace.features import rides
from tests.headrace.features.rides import CLOCK, DRIVERS, RUN, START
from tests.headrace.pages.conftest import Page

DAYS = [START + timedelta(days=number) for number in range(3)]


@pytest.fixture
def shown(landing: LocalStore, lake: LocalStore) -> Page:
    """On the second day one ride of two is known two days later; the third day has only its preliminary version."""
    rides.land(landing, DAYS[0], ("ada", 9, 1, 2), ("bob", 10, 1, 0))
    rides.land(landing, DAYS[1], ("ada", 9, 1, 3), ("ada", 20, 40, 5))
    rides.land(landing, DAYS[2], ("bob", 8, 1, 1))
    rides.compact(landing, lake, *DAYS)
    for key in (*scheduled_keys(DRIVERS, DAYS[0]), *scheduled_keys(DRIVERS, DAYS[1]), preliminary_key(DRIVERS, DAYS[2])):
        materialise(DRIVERS, key, RUN, lake=lake, clock=CLOCK)
    return Page(view_page(entry(), Reads(lake), Links(root="/headrace", airflow="")))


def entry() -> Entry:
    declared = Declarations(datasets=(), views=(DRIVERS,), training_sets=(), failures={})
    return catalogue(declared, {"drivers.snapshot"}).entry("drivers")


def test_a_square_says_how_complete_its_day_was_at_first(shown: Page) -> None:
    """Settled days are green, the preliminary one is flagged; each leads to the day's last version."""
    squares = {str(one["aria-label"]): one["class"] for one in shown.all("a") if str(one.get("class")).startswith("day ")}

    assert squares == {
        "2024-01-01: preliminary, settled, 2 entities; the first knew 100.0% of what the last knew": "day c-ok",
        "2024-01-02: preliminary, settled, 2 entities; the first knew 75.0% of what the last knew": "day c-ok",
        "2024-01-03: preliminary, 2 entities": "day c-warning",
    }


def test_what_came_too_late_is_a_column_a_day(shown: Page) -> None:
    """A quarter of the second day's two-day window; nothing of the first; the third has no later version to compare with."""
    columns = [str(one["aria-label"]) for one in shown.all("a") if str(one.get("aria-label")).endswith("%")]

    assert columns == ["2024-01-01: 0.0%", "2024-01-02: 25.0%"]


def test_each_version_has_its_knowledge_time_and_its_publication(shown: Page) -> None:
    """Preliminary: what had arrived when the day ended; settled: 48 hours later; both published as declared."""
    assert "2024-01-02preliminary2024-01-03 00:00 UTC" in shown.text
    assert "2024-01-02settled2024-01-05 00:00 UTC" in shown.text
    assert "Published by declaration5 (days before the system ran)" in shown.text
    assert "Preliminary knew75.0% to 100.0%" in shown.text
