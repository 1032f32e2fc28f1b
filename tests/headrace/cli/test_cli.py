"""The command line as a person or a script meets it: real processes, real exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from headrace.lake import layout
from headrace.lake.local import LocalStore
from headrace.manifests.read import manifest_of, published

from tests.headrace.shards.lake_building import csv_dataset, land, run


def headrace(*arguments: str, lake: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HEADRACE_")}
    given = kept | environment | ({} if lake is None else {"HEADRACE_LAKE": lake})
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli", *arguments], env=given, capture_output=True, text=True, check=False, timeout=60
    )


def as_json(*arguments: str, lake: str) -> Any:
    done = headrace(*arguments, "--json", lake=lake)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def house(landing: LocalStore, lake: LocalStore) -> str:
    """Two days in two releases; one object of the first was refused."""
    ds = csv_dataset(max_quarantine_share=0.5)
    land(landing, {"a.csv": b"n,name\n1,x\n", "b.csv": b"n,name\nbad,x\n"}, "2013-01-01")
    run(ds, landing, lake, "2013-01-01")
    land(landing, {"a.csv": b"n,name\n2,x\n3,y\n"}, "2013-01-02")
    run(ds, landing, lake, "2013-01-02")
    return lake.uri


def test_ls_lists_datasets_partitions_and_files(house: str, lake: LocalStore) -> None:
    """For people by default, JSON for machines, URIs for other tools."""
    assert as_json("ls", lake=house) == [
        {"dataset": "d", "release": 2, "partitions": 2, "digest": published(lake, "d").digest},
    ]
    assert [(line["partition"], line["samples"], line["quarantined"]) for line in as_json("ls", "d", lake=house)] == [
        ("2013-01-01", 1, 1),
        ("2013-01-02", 2, 0),
    ]
    files = headrace("ls", "d", "--files", lake=house).stdout.split()
    assert [Path(name.removeprefix("file://")).is_file() for name in files] == [True, True]
    assert "2013-01-02" in headrace("ls", "d", lake=house).stdout
    assert len(as_json("ls", "d", "--release", "1", lake=house)) == 1


def test_show_tells_a_release_a_partition_and_a_sample(house: str, lake: LocalStore) -> None:
    """A sample leads to its source and its values."""
    assert as_json("show", "d", lake=house)["partitions"] == 2
    shown = as_json("show", "d", "2013-01-02", lake=house)
    assert shown["counts"]["samples"] == 2
    sample = shown["shards"][0]["last_sample_id"]

    found = as_json("show", "d", "--sample", sample, lake=house)

    assert (found["partition"], found["source_key"], found["source_row"]) == ("2013-01-02", "in/2013/01/02/a.csv", 1)
    assert found["values"]["n"] == 3
    missing = headrace("show", "d", "--sample", "0" * 32, lake=house)
    assert missing.returncode == 1
    assert missing.stderr.startswith(f"headrace: sample {'0' * 32}: found no such sample")


def test_verify_exits_0_when_whole_and_1_naming_the_shard(house: str, lake: LocalStore) -> None:
    """Also as JSON."""
    assert headrace("verify", "d", lake=house).stdout.endswith("all as published.\n")
    shard = manifest_of(lake, published(lake, "d"), "2013-01-02").shards[0].sha256
    lake.delete(layout.shard("d", shard))
    lake.put_new(layout.shard("d", shard), b"junk")

    done = headrace("verify", "d", lake=house)
    told = json.loads(headrace("verify", "d", "--json", lake=house).stdout)

    assert done.returncode == 1
    assert shard in done.stdout
    assert done.stdout.endswith("1 broken.\n")
    assert [finding["partition"] for finding in told["findings"]] == ["2013-01-02"]


def test_diff_history_and_rollback(house: str) -> None:
    """Forwards, and back."""
    (change,) = as_json("diff", "d", "1", lake=house)["partitions"]
    assert (change["partition"], change["kind"], change["samples_after"]) == ("2013-01-02", "added", 2)
    assert [line["release"] for line in as_json("history", "d", lake=house)] == [2, 1]

    assert as_json("rollback", "d", "--to", "1", lake=house)["release"] == 3

    assert as_json("history", "d", "--limit", "1", lake=house)[0]["rolled_back_to"] == 1
    assert len(as_json("ls", "d", lake=house)) == 1
    assert "back to 1" in headrace("history", "d", lake=house).stdout


def test_a_tag_is_made_listed_moved_and_removed(house: str) -> None:
    """What it names stands in the history; LATEST goes its own way."""
    assert headrace("tag", "d", "v1.0", "--release", "1", lake=house).stdout == "d: v1.0 names release 1.\n"
    assert as_json("tag", "d", "v1.0", lake=house)["release"] == 2
    assert [line["names"] for line in as_json("history", "d", lake=house)] == [["LATEST", "v1.0"], []]
    assert [(item["tag"], item["release"]) for item in as_json("tag", "d", lake=house)] == [("LATEST", 2), ("v1.0", 2)]
    assert "v1.0" in headrace("tag", "d", lake=house).stdout

    assert headrace("tag", "d", "v1.0", "--remove", lake=house).stdout == "d: v1.0 is no tag any more.\n"

    assert [item["tag"] for item in as_json("tag", "d", lake=house)] == ["LATEST"]


def test_quarantine_lists_saves_and_lands_again(house: str, landing: LocalStore, lake: LocalStore, tmp_path: Path) -> None:
    """From refusal to release."""
    (record,) = as_json("quarantine", "d", "2013-01-01", lake=house)
    assert (record["key"], record["found"], record["expected"]) == ("in/2013/01/01/b.csv", "'bad'", "int64")
    assert headrace("quarantine", "d", "2013-01-01", "--save", str(tmp_path / "out"), lake=house).returncode == 0
    (saved,) = (tmp_path / "out").iterdir()
    assert saved.read_bytes() == b"n,name\nbad,x\n"
    saved.write_bytes(b"n,name\n7,x\n")

    done = headrace(
        "quarantine", "d", "2013-01-01", "--readmit", record["key"], "--file", str(saved), lake=house, HEADRACE_SOURCE=landing.uri
    )

    assert done.returncode == 0, done.stderr
    assert run(csv_dataset(max_quarantine_share=0.5), landing, lake, "2013-01-01").manifest.counts.samples == 2
    unknown = headrace("quarantine", "d", "2013-01-01", "--readmit", "nope", "--file", str(saved), lake=house)
    assert unknown.returncode == 1
    assert "in/2013/01/01/b.csv" in unknown.stderr


def test_a_refused_file_is_landed_again_under_its_name_that_is_no_utf_8(
    landing: LocalStore, lake: LocalStore, tmp_path: Path
) -> None:
    """A person types it as it is shown."""
    land(landing, {"caf\udce9.csv": b"n,name\nbad,x\n", "a.csv": b"n,name\n1,x\n"})
    run(csv_dataset(max_quarantine_share=0.5), landing, lake, "2013-01-01")
    (tmp_path / "mended").write_bytes(b"n,name\n7,x\n")
    (record,) = as_json("quarantine", "d", "2013-01-01", lake=lake.uri)

    done = headrace(
        "quarantine", "d", "2013-01-01", "--readmit", record["key"], "--file", str(tmp_path / "mended"),
        lake=lake.uri, HEADRACE_SOURCE=landing.uri,
    )  # fmt: skip

    assert (done.returncode, record["key"]) == (0, r"in/2013/01/01/caf\xe9.csv"), done.stderr
    assert [info.key for info in landing.list()] == ["in/2013/01/01/a.csv", "in/2013/01/01/caf\udce9.csv"]


def test_gc_only_tells_until_it_is_told(house: str, lake: LocalStore) -> None:
    """Dry-run by default."""
    before = {info.key for info in lake.list()}

    told = as_json("gc", "d", "--keep-releases", "1", "--grace-hours", "0", lake=house)
    assert told["removed"] == 0
    assert {info.key for info in lake.list()} == before
    assert "Nothing was removed" in headrace("gc", "d", lake=house).stdout

    done = as_json("gc", "d", "--keep-releases", "1", "--grace-hours", "0", "--delete", lake=house)

    assert done["removed"] == len(told["garbage"]) > 0
    assert headrace("verify", "d", lake=house).returncode == 0


def test_rollup_makes_a_month(house: str) -> None:
    """And the month is a dataset one can look at."""
    assert as_json("rollup", "d", "2013-01", lake=house)["dataset"] == "d_monthly"
    assert [line["samples"] for line in as_json("ls", "d_monthly", lake=house)] == [3]


def test_rebuild_makes_a_lost_index_and_a_lost_manifest_again(house: str, lake: LocalStore) -> None:
    """The index under its old name; a manifest from the shards alone, put in use when asked to."""
    for info in list(lake.list("d/index/")):
        lake.delete(info.key)
    assert headrace("verify", "d", lake=house).returncode == 1
    for day in ("2013-01-01", "2013-01-02"):
        assert as_json("rebuild", "d", day, lake=house)["release"] is None
    assert headrace("verify", "d", lake=house).returncode == 0

    for info in list(lake.list("d/manifests/2013-01-02/")):
        lake.delete(info.key)
    assert "--under" in headrace("rebuild", "d", "2013-01-02", lake=house).stderr
    assert as_json("rebuild", "d", "2013-01-02", "--under", "in/2013/01/02/", "--publish", lake=house)["release"] == 3
    assert headrace("verify", "d", lake=house).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("ls", "nosuch"), 1, "found no release; expected a release named LATEST"),
        (("show", "d", "2013-09-09"), 1, "found no partition 2013-09-09"),
        (("ls", "d", "--release", "77"), 1, "release 77: found no such release"),
        (("rollback", "d", "--to", "77"), 1, "release 77: found no such release"),
        (("tag", "d", "latest"), 1, "tag: found 'latest', which means something else in a lake"),
        (("tag", "d", "v1", "--release", "77"), 1, "release 77: found no such release"),
        (("tag", "d", "v1", "--remove"), 1, "d v1: found no such tag"),
        (("tag", "nosuch"), 1, "found no release; expected a release named LATEST"),
        (("tag", "d", "--remove"), 2, "name the tag to remove"),
        (("rollup", "d", "2013"), 1, "YYYY-MM"),
        (("show", "d", "2013-09-09"), 1, "expected one of its partitions, 2013-01-01, 2013-01-02"),
        (("gc", "nosuch"), 1, "found no object; expected a dataset of this lake"),
        (("export", "d", "/tmp", "--format", "mds"), 1, "found files; expected an empty folder"),
        (("export", "d", "/dev/null", "--format", "mds"), 1, "found a file; expected an empty folder"),
        (("quarantine", "d", "2013-01-01", "--save", "/dev/null"), 1, "/dev/null: File exists"),
        (("ls", "--nosuch"), 2, "No such option"),
    ],
)
def test_what_goes_wrong_is_one_sentence(house: str, arguments: tuple[str, ...], code: int, says: str) -> None:
    """No traceback, a status a script can act on."""
    done = headrace(*arguments, lake=house)

    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_answer_is_a_sentence_and_no_empty_table(house: str, tmp_path: Path) -> None:
    """Nothing found looks like nothing found, and a machine still gets its list."""
    empty = f"file://{tmp_path}/empty"

    assert headrace("ls", lake=empty).stdout == f"No dataset has a release in {empty}.\n"
    assert as_json("ls", lake=empty) == []
    assert headrace("quarantine", "d", "2013-01-02", lake=house).stdout == "d 2013-01-02: nothing is in quarantine.\n"
    assert as_json("quarantine", "d", "2013-01-02", lake=house) == []


def test_people_read_where_a_value_stood_and_what_each_figure_is(house: str) -> None:
    """The refused row and column; names before a shard's figures; one thing is not called things."""
    assert "in/2013/01/01/b.csv row 0 column n" in headrace("quarantine", "d", "2013-01-01", lake=house).stdout
    shown = headrace("show", "d", "2013-01-01", lake=house).stdout
    assert "row_groups 1, rows 1" in shown
    assert "sample_id string" in shown
    assert headrace("rollback", "d", "--to", "1", lake=house).stdout == "d: release 3 has the 1 partition of release 1.\n"


def test_diff_counts_the_objects_of_a_day_that_came_and_of_one_that_went(house: str) -> None:
    """A day that is not there has no objects; that is known and not a question mark."""
    (came,) = as_json("diff", "d", "1", "2", lake=house)["partitions"]
    (went,) = as_json("diff", "d", "2", "1", lake=house)["partitions"]

    assert (came["kind"], came["objects"]) == ("added", {"new": ["in/2013/01/02/a.csv"], "changed": [], "gone": []})
    assert (went["kind"], went["objects"]) == ("removed", {"new": [], "changed": [], "gone": ["in/2013/01/02/a.csv"]})


def test_a_lake_nobody_named_is_asked_for() -> None:
    """`--lake` or the environment."""
    done = headrace("ls")

    assert done.returncode == 1
    assert done.stderr.startswith("headrace: HEADRACE_LAKE: found nothing")
    assert headrace("ls", "--lake", "ftp://x").stderr.startswith("headrace: store URI: found 'ftp://x'")


def test_help_names_every_command() -> None:
    """The table of commands is whole, with whatever other rooms mount."""
    shown = headrace("--help").stdout

    commands = "ls show verify diff history rollback tag quarantine rollup rebuild index gc export plan replay"
    for command in commands.split():
        assert f" {command} " in shown
