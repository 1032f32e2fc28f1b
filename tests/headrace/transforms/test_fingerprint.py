"""The fingerprint of a transform: packages must be named, and every part of the declaration counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from headrace.spec.columns import columns
from headrace.spec.transform import Transform, parameters
from headrace.transforms.errors import CodeRefused
from headrace.transforms.fingerprint import code_as_planned, fingerprint_of
from headrace.transforms.registry import FunctionNotFound

from tests.headrace.transforms.build import step, transform
from tests.headrace.transforms.conftest import Project


@pytest.fixture
def made(project: Project) -> Transform:
    project.write(steps="def f(payload, *, x=1, y=None):\n    return {'text': ''}\n")
    return transform(step(parameters=parameters(x=1)))


PARTS: dict[str, dict[str, Any]] = {
    "name": {"name": "g"},
    "version": {"version": "2"},
    "kind": {"kind": "batch"},
    "gives": {"gives": "filter"},
    "columns": {"columns": columns(text="binary")},
    "a parameter's value": {"parameters": parameters(x=2)},
    "a parameter's type": {"parameters": parameters(x=1.0)},
    "a truth value": {"parameters": parameters(x=True)},
    "a parameter's name": {"parameters": parameters(y=1)},
    "column": {"column": "other"},
    "a package": {"packages": ("numpy",)},
}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_a_step_counts(made: Transform, part: str) -> None:
    """No two declarations share results."""
    other = replace(made, steps=(replace(made.steps[0], **PARTS[part]),))

    assert fingerprint_of(other).digest != fingerprint_of(made).digest


@pytest.mark.parametrize(
    ("changed", "same_code"),
    [({"shard_bytes": 2_000_000}, True), ({"row_group_bytes": 200_000}, True), ({"compress": False}, True)],
)
def test_how_shards_are_written_counts_but_is_no_code(made: Transform, changed: dict[str, Any], same_code: bool) -> None:
    """Other sizes are other bytes, made by the same code."""
    before, after = fingerprint_of(made), fingerprint_of(replace(made, **changed))

    assert before.digest != after.digest
    assert (before.code == after.code) is same_code


@pytest.mark.parametrize("changed", [{"owner": "somebody"}, {"cores": 1}, {"max_failed_share": 1.0}, {"name": "other"}])
def test_what_runs_it_and_what_may_fail_does_not_count(made: Transform, changed: dict[str, Any]) -> None:
    """No result depends on it."""
    assert fingerprint_of(replace(made, **changed)).digest == fingerprint_of(made).digest


def test_a_package_that_is_reached_must_be_named(project: Project) -> None:
    """Otherwise its upgrade would go unnoticed; the refusal knows the distribution."""
    project.write(steps="import dateutil.parser\ndef f(payload):\n    return {'text': str(dateutil.parser.parse(payload))}\n")

    with pytest.raises(CodeRefused, match=r"reaches dateutil \(of python-dateutil\).*Name it in `packages`"):
        fingerprint_of(transform(step()))

    assert list(fingerprint_of(transform(step(packages=("python-dateutil",)))).packages) == ["python-dateutil"]
    assert list(fingerprint_of(transform(step(recorded=("python-dateutil",)))).recorded) == ["python-dateutil"]


def test_a_package_that_is_not_installed_is_refused(project: Project) -> None:
    """With a hint that distributions and modules have other names."""
    project.write(steps="def f(payload):\n    return {'text': ''}\n")

    with pytest.raises(CodeRefused, match=r"package PIL-or-so: found no such distribution.*pillow"):
        fingerprint_of(transform(step(packages=("PIL-or-so",))))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("nowhere:f", "No module named 'nowhere'"),
        ("steps:nothing", "no attribute 'nothing'"),
        ("steps:NUMBER", "a int"),
        ("steps:few", "unexpected keyword argument 'x'"),
        ("broken:f", "SyntaxError"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(project: Project, function: str, says: str) -> None:
    """Before anything runs."""
    project.write(steps="NUMBER = 1\ndef few(payload):\n    return {}\n", broken="def f(:\n")

    with pytest.raises(FunctionNotFound, match=says):
        fingerprint_of(transform(step(function=function, parameters=parameters(x=1))))


def test_planned_code_is_the_code_that_is_loaded(made: Transform) -> None:
    """Given its own digest back, it is found."""
    found = fingerprint_of(made)

    assert code_as_planned(made, found.digest).digest == found.digest
