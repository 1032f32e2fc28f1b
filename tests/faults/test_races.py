"""Eight writers at once on a real S3 server."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from headrace.lake.open import open_store
from headrace.lake.store import Store
from headrace.manifests.history import named_release
from headrace.manifests.promote import promote
from headrace.manifests.read import published

RACES = int(os.environ.get("HEADRACE_RACES", "3"))
"""How many races of each kind; 30 in the full count."""
RUN = {"dag": "test"}
DAYS = [f"2013-01-0{n}" for n in range(1, 9)]
DIGESTS = [str(n) * 64 for n in range(1, 9)]


@pytest.mark.servers
@pytest.mark.parametrize("race", range(RACES))
def test_eight_days_published_at_once_are_all_in(s3_store: Store, race: int) -> None:
    """Eight releases, one after another; the losers of each step rebased."""
    with ThreadPoolExecutor(8) as pool:
        numbers = sorted(pool.map(lambda day: promote(open_store(s3_store.uri), "d", {day: DIGESTS[0]}, RUN).number, DAYS))

    assert numbers == list(range(1, 9))
    assert sorted(published(s3_store, "d").partitions) == DAYS


@pytest.mark.servers
@pytest.mark.parametrize("race", range(RACES))
def test_eight_versions_of_one_day_published_at_once(s3_store: Store, race: int) -> None:
    """Each release number has one winner; the chain has no gap; the last one is in use."""
    with ThreadPoolExecutor(8) as pool:
        releases = list(pool.map(lambda digest: promote(open_store(s3_store.uri), "d", {DAYS[0]: digest}, RUN), DIGESTS))

    assert sorted(release.number for release in releases) == list(range(1, 9))
    for release in releases:
        stored = named_release(s3_store, "d", release.number)
        assert stored == release
        assert stored.parent == (None if release.number == 1 else release.number - 1)
    assert published(s3_store, "d") == max(releases, key=lambda release: release.number)
