"""Replay: each verdict, each way to name a sample, and what is written for a person to look at."""

from __future__ import annotations

import decimal
import importlib.metadata
import io
import json
import zipfile
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.read import published
from headrace.spec.columns import columns
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import Csv
from headrace.spec.transform import Tensor, Transform, parameters
from headrace.transforms.errors import NotReplayable, SampleNotFound
from headrace.transforms.replay.find import Wanted
from headrace.transforms.replay.origin import SourceState
from headrace.transforms.replay.replay import Replay, replay
from headrace.transforms.replay.show import difference, save
from headrace.transforms.replay.verdict import Facts, Verdict, verdict_of

from tests.headrace.transforms.build import DAY, FILES, compact, declared, land, rows, run, step, transform
from tests.headrace.transforms.conftest import Project

DAY_ONE = date(2013, 1, 1)
WORDS = """
    import numpy
    from helpers import shout

    def read(payload):
        return {"text": payload.decode()}

    def f(text, *, mark):
        for word in text.split():
            yield {"word": shout(word) + mark, "ones": numpy.ones((2, 2), numpy.uint8)}
"""
HELPERS = """
    def shout(word):
        return word.upper()
"""


def words(mark: str = "!", **kwargs: Any) -> Transform:
    return transform(
        step("read"),
        step(
            gives="many",
            column="text",
            columns=(*columns(word="string"), Tensor(name="ones", type="uint8", shape=(2, 2))),
            parameters=parameters(mark=mark),
            packages=("numpy",),
        ),
        **kwargs,
    )


@pytest.fixture
def made(project: Project, landing: LocalStore, lake: LocalStore) -> list[dict[str, Any]]:
    """Two objects, four words; the rows of the release."""
    project.write(steps=WORDS, helpers=HELPERS)
    land(landing, {"a": b"to be", "b": b"or not"})
    compact(landing, lake)
    return rows(lake, run(words(), lake))


def again(landing: LocalStore, lake: LocalStore, wanted: Wanted, *transforms: Transform, **kwargs: Any) -> Replay:
    return replay(published(lake, "made"), wanted, declared(*transforms or (words(),)), lake=lake, source=landing, **kwargs)


def of(row: dict[str, Any]) -> Wanted:
    return Wanted(sample_id=row["sample_id"])


def test_equal(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]) -> None:
    """Source key, ETag, bytes digest, each step with its output, and the verdict."""
    found = again(landing, lake, of(made[3]))

    assert found.verdict is Verdict.EQUAL
    assert (found.origin.key, found.origin.state, found.origin.data) == ("in/2013/01/01/b", SourceState.SAME, b"or not")
    assert found.origin.recorded_etag == found.origin.found_etag == made[3]["source_etag"]
    (passage,) = found.passages
    assert [(one.step, one.rows.num_rows) for one in passage.outputs] == [("read", 1), ("f", 2)]
    assert passage.outputs[1].rows.column("word").to_pylist() == ["OR!", "NOT!"]
    assert "recorded code gives the recorded output" in found.findings


def test_a_source_whose_name_is_no_utf_8_is_found(landing: LocalStore, lake: LocalStore) -> None:
    """Shards show such a byte as `\\xNN`; the object is asked for by the byte."""
    land(landing, {"caf\udce9": b"x"})
    compact(landing, lake)

    found = replay(published(lake, "files"), Wanted(position=0), declared(), lake=lake, source=landing)

    assert (found.verdict, found.origin.key) == (Verdict.EQUAL, r"in/2013/01/01/caf\xe9")


def test_source_changed(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]) -> None:
    """Another content; what the release holds still comes out of the bytes the lake kept."""
    land(landing, {"b": b"or so"})

    found = again(landing, lake, of(made[3]))

    assert found.verdict is Verdict.SOURCE_CHANGED
    assert found.origin.found_digest != found.origin.recorded_digest
    assert found.facts.reproduced is True


def test_a_source_that_was_only_written_again_is_the_same(
    landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]
) -> None:
    """Another ETag, the same bytes."""
    land(landing, {"b": b"or not"})

    found = again(landing, lake, of(made[3]))

    assert found.origin.found_etag != found.origin.recorded_etag
    assert found.verdict is Verdict.EQUAL


def test_source_gone(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]) -> None:
    """The object was removed."""
    landing.delete("in/2013/01/01/b")

    found = again(landing, lake, of(made[3]))

    assert (found.verdict, found.origin.data) == (Verdict.SOURCE_GONE, None)
    assert found.facts.reproduced is True


CHANGES = {
    "a helper": (WORDS, HELPERS.replace("upper", "title"), "!", "made: step f helpers:shout changed"),
    "the function": (WORDS.replace("+ mark", "+ mark + mark"), HELPERS, "!", "made: step f steps:f changed"),
    "a parameter": (WORDS, HELPERS, "?", "made: step f parameter mark ! -> ?"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_transform_changed(
    project: Project, landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]], what: str
) -> None:
    """The kept code still gives what it gave; today's gives something else, which is shown."""
    steps, helpers, mark, says = CHANGES[what]
    project.write(steps=steps, helpers=helpers)

    found = again(landing, lake, of(made[3]), words(mark), with_current=True)

    assert found.verdict is Verdict.TRANSFORM_CHANGED
    assert says in found.findings
    assert found.facts.reproduced is True
    (passage,) = found.passages
    assert passage.outputs[1].rows.column("word").to_pylist() == ["OR!", "NOT!"]
    (line,) = difference(passage)
    assert line.startswith("word: 'NOT!' -> ")


def test_code_that_is_not_kept_any_more(
    project: Project, landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]
) -> None:
    """Nothing can be run as it was, and no function named; the verdict stands."""
    project.write(steps=WORDS.replace("+ mark", "+ mark + mark"), helpers=HELPERS)
    for info in list(lake.list("made/code/")):
        lake.delete(info.key)

    found = again(landing, lake, of(made[3]))

    assert (found.verdict, found.facts.reproduced) == (Verdict.TRANSFORM_CHANGED, None)
    assert not any("recorded code" in line for line in found.findings)
    assert "made: its code changed" in found.findings
    assert "found no object" in found.passages[0].trouble[0]


def test_a_changed_comment_is_equal(project: Project, landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]) -> None:
    """It changes no result."""
    project.write(steps=WORDS.replace("import numpy", "import numpy  # arrays"), helpers=HELPERS)

    assert again(landing, lake, of(made[0])).verdict is Verdict.EQUAL


def test_a_transform_that_is_declared_no_more(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]) -> None:
    """Its kept code runs all the same."""
    found = again(landing, lake, of(made[0]), transform(step("read"), name="unrelated"))

    assert found.verdict is Verdict.TRANSFORM_CHANGED
    assert found.passages[0].trouble == ("not declared any more",)
    assert found.facts.reproduced is True


def test_environment_differs(
    landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package that differs is named."""
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0" if name == "numpy" else real(name))

    found = again(landing, lake, of(made[0]))

    assert found.verdict is Verdict.ENVIRONMENT_DIFFERS
    assert f"package numpy {np.__version__} -> 99.0" in found.findings


def test_not_reproduced(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """A function that is none of its input: the same code gives something else each time."""
    project.write(steps="def f(payload):\n    return {'text': str(object())}\n")
    land(landing, {"a": b"x"})
    compact(landing, lake)
    (row,) = rows(lake, run(transform(step()), lake))
    keep = [object() for _ in range(1000)]  # so that the next object lies elsewhere

    found = again(landing, lake, of(row), transform(step()))

    assert len(keep) == 1000
    assert found.verdict is Verdict.NOT_REPRODUCED


def test_a_failed_sample_can_be_replayed(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """It stands in quarantine under its ID; the step fails again, with the traceback."""
    project.write(steps="def f(payload):\n    return {'text': payload.decode('utf-8')}\n")
    land(landing, {"latin": b"caf\xe9", "good": b"x"})
    failed = next(row for row in rows(lake, compact(landing, lake)) if row["source_key"].endswith("latin"))
    run(transform(step(), max_failed_share=0.5), lake)

    found = again(landing, lake, of(failed), transform(step(), max_failed_share=0.5))

    assert found.found.where is None
    (failure,) = found.passages[0].outputs[0].failed
    assert (failure.kind, found.verdict) == ("UnicodeDecodeError", Verdict.EQUAL)
    assert found.findings[-1] == "recorded code fails as recorded"


def test_a_sample_that_fails_in_another_way_is_not_reproduced(project: Project, landing: LocalStore, lake: LocalStore) -> None:
    """Failing at all is not enough. The function depends on a package's state, which no fingerprint sees."""
    project.write(
        steps="""
        import decimal

        def f(payload):
            raise (KeyError if decimal.getcontext().prec == 5 else ValueError)(payload)
        """
    )
    land(landing, {"a": b"x"})
    (failed,) = rows(lake, compact(landing, lake))
    made = transform(step(), max_failed_share=1.0)
    run(made, lake)

    with decimal.localcontext(decimal.Context(prec=5)):
        found = again(landing, lake, of(failed), made)

    assert found.verdict is Verdict.NOT_REPRODUCED
    assert found.findings[-1] == "recorded code does not fail as recorded"


WAYS = {
    "source key and part": Wanted(source_key="in/2013/01/01/b", part=1),
    "position": Wanted(position=3),
    "position in a partition": Wanted(position=3, partition=DAY),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_sample_is_found_in_each_way(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]], way: str) -> None:
    """All mean the last word."""
    found = again(landing, lake, WAYS[way])

    assert found.found.sample_id == made[3]["sample_id"]
    assert found.verdict is Verdict.EQUAL


def test_a_sample_is_found_by_shard_and_row(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]) -> None:
    """The beginning of the shard's name will do."""
    shard = again(landing, lake, of(made[2])).found.where
    assert shard is not None

    assert again(landing, lake, Wanted(shard=shard.shard[:12], row=2)).found.sample_id == made[2]["sample_id"]


@pytest.mark.parametrize(
    "wanted", [Wanted(sample_id="0" * 32), Wanted(position=4), Wanted(source_key="none"), Wanted(shard="ffff", row=0)]
)
def test_what_is_not_there_is_said(landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]], wanted: Wanted) -> None:
    """With the release that was looked in."""
    with pytest.raises(SampleNotFound, match="in made release 1"):
        again(landing, lake, wanted)


def test_a_source_key_is_found_where_a_key_is_declared(landing: LocalStore, lake: LocalStore) -> None:
    """The ID says nothing of the source then, so the index is scanned."""
    table = Dataset(
        name="files",
        source=Source(prefix="in/%Y/%m/%d/", format=Csv(columns=columns(n="int64"))),
        timezone="UTC",
        start=DAY_ONE,
        key=("n",),
    )
    land(landing, {"t.csv": b"n\n5\n6\n"})
    manifest = compact(landing, lake, table)

    found = replay(
        published(lake, "files"),
        Wanted(source_key="in/2013/01/01/t.csv", source_row=1),
        declared(datasets=(table,)),
        lake=lake,
        source=landing,
    )

    assert found.sample is not None
    assert found.sample.column("n").to_pylist() == [6]
    assert (found.verdict, found.passages) == (Verdict.EQUAL, ())
    land(landing, {"t.csv": b"n\n5\n7\n"})
    changed = replay(published(lake, "files"), Wanted(position=1), declared(datasets=(table,)), lake=lake, source=landing)
    same = replay(published(lake, "files"), Wanted(position=0), declared(datasets=(table,)), lake=lake, source=landing)
    assert (changed.verdict, same.verdict) == (Verdict.SOURCE_CHANGED, Verdict.EQUAL)
    assert manifest.counts.samples == 2


@pytest.mark.parametrize(("row", "part", "word"), [(0, 0, "TO!"), (0, 1, "BE!"), (1, 1, "NOT!")])
def test_the_part_is_found_where_a_key_is_declared(
    project: Project, landing: LocalStore, lake: LocalStore, *, row: int, part: int, word: str
) -> None:
    """All parts of a sample share its source key and row."""
    table = Dataset(
        name="files",
        source=Source(prefix="in/%Y/%m/%d/", format=Csv(columns=columns(n="int64", text="string"))),
        timezone="UTC",
        start=DAY_ONE,
        key=("n",),
    )
    project.write(steps=WORDS, helpers=HELPERS)
    land(landing, {"t.csv": b"n,text\n5,to be\n6,or not\n"})
    compact(landing, lake, table)
    made = replace(words(), steps=words().steps[1:])
    run(made, lake)

    wanted = Wanted(source_key="in/2013/01/01/t.csv", source_row=row, part=part)
    found = replay(published(lake, "made"), wanted, declared(made, datasets=(table,)), lake=lake, source=landing)

    assert found.sample is not None
    assert (found.sample.column("word").to_pylist(), found.verdict) == ([word], Verdict.EQUAL)


def test_the_member_is_found_where_a_key_is_declared(landing: LocalStore, lake: LocalStore) -> None:
    """Rows count from 0 in each file of an archive."""
    table = Dataset(
        name="files",
        source=Source(prefix="in/%Y/%m/%d/", format=Csv(columns=columns(n="int64")), unpack=("zip",)),
        timezone="UTC",
        start=DAY_ONE,
        key=("n",),
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("a.csv", "n\n5\n")
        archive.writestr("b.csv", "n\n6\n")
    land(landing, {"t.zip": sink.getvalue()})
    compact(landing, lake, table)

    wanted = Wanted(source_key="in/2013/01/01/t.zip", member="b.csv")
    found = replay(published(lake, "files"), wanted, declared(datasets=(table,)), lake=lake, source=landing)

    assert found.sample is not None
    assert found.sample.column("n").to_pylist() == [6]


def test_a_chain_of_transforms_is_followed_to_the_source(
    project: Project, landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]]
) -> None:
    """Each transform on the way is a passage of its own."""
    project.write(steps=WORDS + "\n    def g(word):\n        return {'text': word[::-1]}\n", helpers=HELPERS)
    second = transform(step("g", column="word"), name="second", dataset="made")
    row = rows(lake, run(second, lake))[3]

    found = replay(published(lake, "second"), of(row), declared(words(), second), lake=lake, source=landing)

    assert [passage.transform for passage in found.passages] == ["made", "second"]
    assert found.verdict is Verdict.EQUAL
    assert found.origin.data == b"or not"


def test_computed_rows_have_no_single_source(lake: LocalStore, landing: LocalStore) -> None:
    """A snapshot row comes from many samples."""
    from headrace.manifests.promote import promote, write_candidate
    from headrace.manifests.run import RunIdentity

    land(landing, {"a": b"x"})
    manifest = replace(compact(landing, lake), facts={"snapshot": {}})
    identity = RunIdentity(dag="d", run_id="r", kind="manual", partition_key=DAY).document()
    release = promote(lake, "files", {DAY: write_candidate(lake, manifest, identity)}, identity)

    with pytest.raises(NotReplayable, match="computed from many samples"):
        replay(release, Wanted(position=0), declared(), lake=lake, source=landing)


def test_source_and_outputs_are_written_for_a_person(
    landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The source as it is, a tensor as an array and a picture, the rest as JSON."""
    written = {path.name: path for path in save(again(landing, lake, of(made[3])), tmp_path / "out")}

    assert written["source"].read_bytes() == b"or not"
    assert json.loads(written["1-made-read.json"].read_text()) == {"text": "or not"}
    assert json.loads(written["2-made-f-001.json"].read_text()) == {"word": "NOT!"}
    assert np.load(written["2-made-f-001.ones.npy"]).tolist() == [[1, 1], [1, 1]]
    assert written["2-made-f-001.ones.png"].read_bytes().startswith(b"\x89PNG")


def test_of_a_source_that_changed_both_are_written(
    landing: LocalStore, lake: LocalStore, made: list[dict[str, Any]], tmp_path: Path
) -> None:
    """What landed, and what is there now; of one that is gone, what landed."""
    land(landing, {"b": b"other now"})
    changed = {path.name: path.read_bytes() for path in save(again(landing, lake, of(made[3])), tmp_path / "changed")}
    landing.delete("in/2013/01/01/b")
    gone = {path.name: path.read_bytes() for path in save(again(landing, lake, of(made[3])), tmp_path / "gone")}

    assert (changed["landed"], changed["source-now"]) == (b"or not", b"other now")
    assert gone["landed"] == b"or not"
    assert not {"source"} & (changed.keys() | gone.keys())


def test_of_a_row_the_object_and_the_row_are_written(landing: LocalStore, lake: LocalStore, tmp_path: Path) -> None:
    """The object holds other rows too."""
    table = replace(FILES, source=Source(prefix="in/%Y/%m/%d/", format=Csv(columns=columns(n="int64"))))
    land(landing, {"t.csv": b"n\n5\n6\n"})
    compact(landing, lake, table)
    found = replay(published(lake, "files"), Wanted(position=1), declared(datasets=(table,)), lake=lake, source=landing)

    written = {path.name: path.read_bytes() for path in save(found, tmp_path)}

    assert written["source.csv"] == b"n\n5\n6\n"
    assert json.loads(written["landed.json"])["n"] == 6


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (Facts(source=SourceState.SAME), Verdict.EQUAL),
        (Facts(source=SourceState.SAME, reproduced=True), Verdict.EQUAL),
        (Facts(source=SourceState.SAME, reproduced=False), Verdict.NOT_REPRODUCED),
        (Facts(source=SourceState.SAME, reproduced=True, surroundings=("python 3.11 -> 3.12",)), Verdict.EQUAL),
        (Facts(source=SourceState.SAME, reproduced=False, surroundings=("python 3.11 -> 3.12",)), Verdict.ENVIRONMENT_DIFFERS),
        (Facts(source=SourceState.SAME, reproduced=True, packages=("pillow 1 -> 2",)), Verdict.ENVIRONMENT_DIFFERS),
        (Facts(source=SourceState.SAME, reproduced=True, packages=("x",), changed_code=("y",)), Verdict.TRANSFORM_CHANGED),
        (Facts(source=SourceState.CHANGED, reproduced=True, changed_code=("y",)), Verdict.SOURCE_CHANGED),
        (Facts(source=SourceState.GONE, reproduced=True, changed_code=("y",)), Verdict.SOURCE_GONE),
    ],
)
def test_the_verdict_is_the_first_that_applies(facts: Facts, verdict: Verdict) -> None:
    """A table of facts and what they come to."""
    assert verdict_of(facts) is verdict
