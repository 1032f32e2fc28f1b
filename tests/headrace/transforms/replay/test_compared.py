"""What reading alone says of a sample: no function is called, no module of the project imported."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from headrace.lake.local import LocalStore
from headrace.manifests.manifest import Manifest
from headrace.spec.transform import Transform, parameters
from headrace.transforms.replay import compared
from headrace.transforms.replay.compared import CodeState, Compared, compare_sample, text_now

from tests.headrace.transforms.build import compact, declared, land, run, step, table, transform
from tests.headrace.transforms.conftest import Project

UPPER = """
    from helpers import shout

    def f(payload, *, mark="!"):
        return {"text": shout(payload.decode()) + mark}
"""
HELPERS = """
    def shout(word):
        return word.upper()
"""


@pytest.fixture
def made(project: Project, landing: LocalStore, lake: LocalStore) -> Manifest:
    """Two objects, two samples."""
    project.write(steps=UPPER, helpers=HELPERS)
    land(landing, {"a": b"to be", "b": b"or not"})
    compact(landing, lake)
    found = run(transform(step()), lake)
    for name in ("steps", "helpers"):
        sys.modules.pop(name, None)
    return found


def looked(made: Manifest, lake: LocalStore, landing: LocalStore | None, *transforms: Transform) -> Compared:
    row: pa.Table = table(lake, made).slice(0, 1)
    known = declared(*transforms or (transform(step()),))
    found = compare_sample(made, str(row.column("sample_id")[0]), row, known, lake=lake, source=landing)
    assert "steps" not in sys.modules
    return found


def test_nothing_differs(landing: LocalStore, lake: LocalStore, made: Manifest) -> None:
    """The source has its ETag, the modules their texts, this process its packages; and nothing of the project was imported."""
    found = looked(made, lake, landing)

    assert found.verdict == "nothing differs"
    assert found.source.found_etag == found.source.recorded_etag
    assert [(one.transform, one.state, one.packages) for one in found.code] == [("made", CodeState.SAME, ())]


def test_the_source(landing: LocalStore, lake: LocalStore, made: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again with the same bytes; with others; too large to be read here; gone; not known here."""
    key = looked(made, lake, landing).source.key.rpartition("/")[2]
    data = {"a": b"to be", "b": b"or not"}[key]

    land(landing, {key: data})
    assert looked(made, lake, landing).verdict == "nothing differs"
    land(landing, {key: b"other"})
    assert looked(made, lake, landing).verdict == "source changed"
    monkeypatch.setattr(compared, "MOST_BYTES", 4)
    assert looked(made, lake, landing).verdict == "not decided"
    landing.delete(f"in/2013/01/01/{key}")
    assert looked(made, lake, landing).verdict == "source gone"
    assert looked(made, lake, None).verdict == "not decided"


OTHERWISE: dict[str, tuple[dict[str, Any], str]] = {
    "a parameter": ({"parameters": parameters(mark="?")}, "step f parameter mark None -> ?"),
    "a version": ({"version": "2"}, "step f version 1 -> 2"),
    "its function": ({"function": "steps:g"}, "step f function steps:f -> steps:g"),
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_a_step_that_is_declared_otherwise(landing: LocalStore, lake: LocalStore, made: Manifest, what: str) -> None:
    """The transform changed, whatever its text."""
    given, says = OTHERWISE[what]

    found = looked(made, lake, landing, transform(step(**given)))

    assert found.verdict == "transform changed"
    assert found.code[0].differences == (says,)


def test_a_transform_that_is_declared_no_more(landing: LocalStore, lake: LocalStore, made: Manifest) -> None:
    """It changed as much as it can."""
    found = looked(made, lake, landing, transform(step(), name="unrelated"))

    assert (found.verdict, found.code[0].state) == ("transform changed", CodeState.GONE)


def test_a_text_that_differs_decides_nothing(project: Project, landing: LocalStore, lake: LocalStore, made: Manifest) -> None:
    """A comment, or another function: reading whole texts cannot tell, so the module is named and replay is asked."""
    project.write(steps=UPPER, helpers=HELPERS + "\n    # loudly\n")

    found = looked(made, lake, landing)

    assert (found.verdict, found.code[0].state) == ("not decided", CodeState.TEXT_DIFFERS)
    assert found.code[0].differences == ("module helpers",)


def test_another_package(landing: LocalStore, lake: LocalStore, made: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process has, against what the run recorded."""
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99.0" if name == "pyarrow" else real(name))

    found = looked(made, lake, landing)

    assert found.verdict == "environment differs"
    assert found.code[0].packages == (f"pyarrow {pa.__version__} -> 99.0",)


def test_a_modules_text_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without `__init__`, in a package, on its own; loaded or not; nowhere."""
    (tmp_path / "space" / "room").mkdir(parents=True)
    (tmp_path / "space" / "room" / "one.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "house" / "two.py").write_text("two = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert text_now("space.room.one") == "raise RuntimeError('imported')\n"
    assert text_now("house.two") == "two = 2\n"
    assert text_now("house") == "raise RuntimeError('imported')\n"
    assert text_now(compared.__name__) == Path(compared.__file__).read_text()
    assert [text_now(name) for name in ("space.room.three", "space.room", "nowhere.at.all", "house.two.more")] == [None] * 4
