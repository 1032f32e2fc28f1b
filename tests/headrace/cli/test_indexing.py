"""`headrace index`: one index over all days, and a replay that uses it."""

from __future__ import annotations

from tests.headrace.cli.transformed import DAYS, Transformed


def test_days_are_indexed_as_one_and_a_sample_is_replayed_through_it(changing: Transformed) -> None:
    """For people and for machines; a second time nothing is written."""
    told = changing.told("index", "dark")

    assert {**told, "bytes": 0} == {"dataset": "dark", "release": 2, "partitions": 2, "samples": 3, "files": 1, "bytes": 0}
    before = sorted((info.key, info.modified) for info in changing.lake.list("dark/lookup/"))
    assert changing.headrace("index", "dark").stdout.startswith("dark: 3 samples of 2 partitions, release 2, in 1 file, ")
    assert sorted((info.key, info.modified) for info in changing.lake.list("dark/lookup/")) == before
    row = changing.rows(DAYS[1])[0]
    assert changing.told("replay", "dark", row["sample_id"])["partition"] == DAYS[1]
