"""Transform declarations: checked at the door, each refusal naming the field, the value and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from headrace.spec.columns import columns
from headrace.spec.errors import DeclarationError
from headrace.spec.load import load_declarations
from headrace.spec.transform import Step, Tensor, Transform, parameters


def step(**kwargs: Any) -> Step:
    given: dict[str, Any] = {"name": "f", "version": "1", "function": "m:f", "kind": "bytes", "columns": columns(x="string")}
    return Step(**{**given, **kwargs})


def transform(**kwargs: Any) -> Transform:
    return Transform(**{"name": "t", "dataset": "d", "steps": (step(),), **kwargs})


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("name", "Not a name", "lower-case"),
        ("version", "", "non-empty"),
        ("function", "no_colon", "function by path"),
        ("kind", "rows", "batch or bytes"),
        ("gives", "two", "one, filter or many"),
        ("columns", (), "at least one"),
        ("columns", columns(x="string") * 2, "each name once"),
        ("columns", columns(part="int64"), "names other than"),
        ("parameters", {"x": 1}, r"parameters\(name=value"),
        ("parameters", parameters(x=float("nan")), "finite"),
        ("parameters", (("b", 1), ("a", 2)), "sorted"),
        ("packages", ("numpy", "numpy"), "each once"),
    ],
)
def test_a_wrong_step_is_refused(field: str, value: Any, allowed: str) -> None:
    """At its construction."""
    with pytest.raises(DeclarationError, match=allowed):
        step(**{field: value})


@pytest.mark.parametrize(
    ("changed", "allowed"),
    [
        ({"dataset": "t"}, "another dataset than itself"),
        ({"steps": ()}, "at least one Step"),
        ({"steps": (step(), step())}, "each name once"),
        ({"steps": (step(gives="many"), step(name="g", column="x", gives="many"))}, "at most one step that gives many"),
        ({"steps": (step(), step(name="g", column="payload"))}, "columns of step f: x"),
        ({"steps": (step(), step(name="g", column="x", also=("y",)))}, "columns of step f: x"),
        ({"max_failed_share": 2}, "0 to 1"),
        ({"shard_bytes": 1}, "1 MB to 4 GiB"),
        ({"cores": 0}, "None, or 1 and more"),
    ],
)
def test_a_wrong_transform_is_refused(changed: dict[str, Any], allowed: str) -> None:
    """Chains are checked, too: a step reads what the one before returns."""
    with pytest.raises(DeclarationError, match=allowed):
        transform(**changed)


@pytest.mark.parametrize(
    ("kind", "shape"), [("int7", (2,)), ("uint8", ()), ("uint8", (0,)), ("uint8", (2, None)), ("uint8", [2])]
)
def test_a_wrong_tensor_is_refused(kind: str, shape: Any) -> None:
    """Types of numpy, sizes of one and more; only the first axis may be free."""
    with pytest.raises(DeclarationError, match="Tensor x"):
        Tensor(name="x", type=kind, shape=shape)


DATASET = """
from datetime import date
from headrace.spec.dataset import Dataset, Source
from headrace.spec.formats import RawBytes
D = Dataset(name="d", source=Source(prefix="d/%Y/%m/%d/", format=RawBytes()), timezone="UTC", start=date(2013, 1, 1))
"""
TRANSFORM = """
from headrace.spec.columns import columns
from headrace.spec.transform import Step, Transform
S = Step(name="f", version="1", function="m:f", kind="bytes", columns=columns(x="string"))
T = Transform(name={name!r}, dataset={dataset!r}, steps=(S,))
"""


def test_a_chain_over_files_finds_its_root(tmp_path: Path) -> None:
    """Dataset, transform and transform of a transform may stand in three files."""
    (tmp_path / "b.py").write_text(DATASET)
    (tmp_path / "a.py").write_text(TRANSFORM.format(name="second", dataset="first"))
    (tmp_path / "c.py").write_text(TRANSFORM.format(name="first", dataset="d"))

    found = load_declarations(tmp_path)

    assert found.failures == {}
    assert {one.name: found.root_of(one).name for one in found.transforms} == {"first": "d", "second": "d"}


def test_a_chain_without_a_root_fails_its_own_file(tmp_path: Path) -> None:
    """A misspelt input and a circle; the rest goes on."""
    (tmp_path / "a.py").write_text(DATASET)
    (tmp_path / "b.py").write_text(TRANSFORM.format(name="lost", dataset="e"))
    (tmp_path / "c.py").write_text(TRANSFORM.format(name="round", dataset="about"))
    (tmp_path / "d.py").write_text(TRANSFORM.format(name="about", dataset="round"))

    found = load_declarations(tmp_path)

    assert sorted(found.failures) == ["b.py", "c.py", "d.py"]
    assert "Transform lost.dataset: found 'e'" in found.failures["b.py"]
    assert ([one.name for one in found.datasets], found.transforms) == (["d"], ())
