"""Names for releases: what they name is there, and stays."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.collecting import announced
from headrace.manifests.errors import CollectionUnderWay, NotPublished
from headrace.manifests.promote import publish
from headrace.manifests.read import latest, manifest_of, pointers
from headrace.manifests.tags import TagRefused, remove_tag, tag_release

from tests.headrace.manifests.test_history import RUN, three_releases

__all__ = ["three_releases"]


def named(lake: LocalStore) -> dict[str, int]:
    return {tag: pointer.number for tag, pointer in pointers(lake, "d").items()}


def test_a_tag_stays_where_latest_goes_on(three_releases: LocalStore) -> None:
    """It moves only when somebody moves it."""
    lake = three_releases
    tag_release(lake, "d", "paper-2013", 2)
    tag_release(lake, "d", "now")
    publish(lake, "d", lambda partitions: {"2013-01-02": partitions["2013-01-02"]}, RUN)

    assert named(lake) == {"LATEST": 4, "now": 3, "paper-2013": 2}
    assert tag_release(lake, "d", "now").number == 4
    remove_tag(lake, "d", "paper-2013")
    assert named(lake) == {"LATEST": 4, "now": 4}


@pytest.mark.parametrize("tag", ["", "LATEST", "latest", "Releases", "a/b", "..", ".hidden", "a b", "f" * 64])
def test_a_name_that_means_something_else_is_refused(three_releases: LocalStore, tag: str) -> None:
    """The pointer, a folder, a path, a digest."""
    with pytest.raises(TagRefused):
        tag_release(three_releases, "d", tag)
    with pytest.raises(TagRefused):
        remove_tag(three_releases, "d", tag)
    assert named(three_releases) == {"LATEST": 3}


def test_no_tag_has_a_folders_name() -> None:
    """The list is that of the layout's page."""
    assert set(re.findall(r"^<dataset>/(\w+)/", str(layout.__doc__), flags=re.M)) == layout.FOLDERS


@pytest.mark.parametrize("before", [None, 3])
def test_what_a_collection_is_about_to_remove_is_not_tagged(three_releases: LocalStore, before: int | None) -> None:
    """A collection that began before did not see the tag: the tag becomes what it was."""
    lake = three_releases
    if before is not None:
        tag_release(lake, "d", "old", before)
    with (
        announced(lake, "d", [layout.release("d", 1)], now=datetime.now(UTC)),
        pytest.raises(CollectionUnderWay, match="release 1"),
    ):
        tag_release(lake, "d", "old", 1)

    assert named(lake).get("old") == before


def test_what_is_not_whole_is_not_tagged(three_releases: LocalStore) -> None:
    """By number, and by the first shard that is gone."""
    lake = three_releases
    with pytest.raises(NotPublished, match="from 1 to 3"):
        tag_release(lake, "d", "old", 9)
    found = latest(lake, "d")
    if found is None:
        pytest.fail("nothing was published")
    lake.delete(layout.shard("d", manifest_of(lake, found.release, "2013-01-01").shards[0].sha256))

    with pytest.raises(NotPublished, match="gone"):
        tag_release(lake, "d", "broken")
    with pytest.raises(NotPublished, match="no such tag"):
        remove_tag(lake, "d", "broken")
