"""`headrace index`: one index over all days, and a replay that uses it."""

from __future__ import annotations

from tests.headrace.cli.transformed import DAYS, Transformed


def test_days_are_indexed_as_one_and_a_sample_is_replayed_through_it(changing: Transformed) -> None:
    """For people and for machines; a second time nothing is written."""
    told = changing.told("index", "dark")

    assert {**told, "bytes": 0} == {"dataset": "dark", "release": 2, "partitions": 2, "ids": 4, "files": 16, "bytes": 0}
    before = sorted((info.key, info.modified) for info in changing.lake.list("dark/lookup/"))
    assert changing.headrace("index", "dark").stdout.startswith(
        "dark release 2: 4 IDs of 2 partitions (samples, and what failed or was refused), in 16 files, "
    )
    assert sorted((info.key, info.modified) for info in changing.lake.list("dark/lookup/")) == before
    row = changing.rows(DAYS[1])[0]
    assert changing.told("replay", "dark", row["sample_id"])["partition"] == DAYS[1]
    assert changing.told("show", "dark", "--sample", row["sample_id"])["partition"] == DAYS[1]


def test_a_sample_that_failed_is_shown_with_where_to_read_why(transformed: Transformed) -> None:
    """It lies in no shard."""
    (failed,) = transformed.told("quarantine", "dark", DAYS[0])

    told = transformed.told("show", "dark", "--sample", failed["sample_id"])

    assert (told["partition"], told["shard"], told["source_key"]) == (DAYS[0], None, "in/2013/01/01/broken.png")
    assert (told["left out"], told["see"]) == ("UnidentifiedImageError", f"headrace quarantine dark {DAYS[0]}")


def test_a_tensor_is_shown_in_words(transformed: Transformed) -> None:
    """Not as its bytes; numbers stay numbers."""
    row = transformed.rows(DAYS[1])[0]

    values = transformed.told("show", "dark", "--sample", row["sample_id"])["values"]

    assert values["seen"].startswith("uint8 (8, 8, 3), 20 to 20, SHA-256 ")
    assert values["source_row"] == 0
