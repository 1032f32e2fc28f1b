"""What a transform's output is a function of, besides its input: the fingerprint.

Two digests. `code` is over the steps as they are declared and over all code they reach (`code.py`). `digest` adds the versions of the
packages they name and how rows become shards; it is the one results are kept under. So a change of code and a change of a package
can be told apart.

A package that code reaches must be named, in `packages` or `recorded`: one that nobody named could be upgraded without anybody
noticing that old results are served.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from headrace.spec.canonical import digest_of
from headrace.spec.transform import Step, Transform
from headrace.transforms.code import Code, code_of
from headrace.transforms.errors import CodeChanged, CodeRefused
from headrace.transforms.origins import distributions_of, provides
from headrace.transforms.registry import function_of

FORMAT: Final = 1
"""Of the rows Headrace makes around what functions return. Another number recomputes everything."""


@dataclass(frozen=True, kw_only=True)
class StepCode:
    """One step: its declaration, its code, and versions by distribution."""

    step: Step
    function: Callable[..., Any]
    code: Code
    packages: dict[str, str]
    recorded: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """The identity of a transform's code, in words and as digests."""

    digest: str
    code: str
    steps: tuple[StepCode, ...]

    @property
    def packages(self) -> dict[str, str]:
        """Versions that are part of the identity."""
        return {name: version for step in self.steps for name, version in sorted(step.packages.items())}

    @property
    def recorded(self) -> dict[str, str]:
        """Versions that are only written down."""
        named = self.packages
        return {name: version for step in self.steps for name, version in sorted(step.recorded.items()) if name not in named}


def fingerprint_of(transform: Transform) -> Fingerprint:
    """The fingerprint of the code that is loaded now.

    Raises:
        CodeRefused: names what cannot be identified, and why.
        FunctionNotFound: a step's function cannot be imported.
    """
    steps = tuple(_step_code(step) for step in transform.steps)
    code = digest_of([FORMAT, [[_declared(one.step), one.code.digest] for one in steps]])
    made = [code, [one.packages for one in steps], transform.shard_bytes, transform.row_group_bytes, transform.compress]
    return Fingerprint(digest=digest_of(made), code=code, steps=steps)


def code_as_planned(transform: Transform, digest: str) -> Fingerprint:
    """The code that is loaded, if it has this fingerprint. Raises `CodeChanged` when it has another."""
    found = fingerprint_of(transform)
    if found.digest != digest:
        raise CodeChanged(
            f"Transform {transform.name}",
            found=f"code with fingerprint {found.digest}",
            expected=f"fingerprint {digest}, with which the run was planned",
            remedy="Clear the run from its plan task: the code was replaced while it ran.",
        )
    return found


def _step_code(step: Step) -> StepCode:
    function = function_of(step)
    code = code_of(function, step.function)
    _check_named(step, code)
    return StepCode(
        step=step,
        function=function,
        code=code,
        packages={name: _version(step, name) for name in sorted(step.packages)},
        recorded={name: _version(step, name) for name in sorted(step.recorded)},
    )


def _declared(step: Step) -> dict[str, Any]:
    """The declaration's part: all but the versions' names, which count by what they are."""
    return {
        "name": step.name,
        "version": step.version,
        "function": step.function,
        "kind": step.kind,
        "gives": step.gives,
        "columns": step.columns,
        "parameters": [[name, _typed(value)] for name, value in step.parameters],
        "column": step.column if step.kind == "bytes" else "",
        "also": step.also,
    }


def _typed(value: Any) -> Any:
    """JSON keeps 1 and 1.0 apart, and True from both; tuples nest."""
    return [_typed(item) for item in value] if isinstance(value, tuple) else value


def _check_named(step: Step, code: Code) -> None:
    named = {module for name in (*step.packages, *step.recorded) for module in _provides(step, name)}
    missing = sorted(code.packages - named)
    if missing:
        known = ", ".join(f"{module} (of {' or '.join(distributions_of(module)) or 'an unknown package'})" for module in missing)
        raise CodeRefused(
            f"Step {step.name}, {step.function}",
            found=f"code that reaches {known}, named neither in packages nor in recorded",
            expected="every package it reaches named",
            remedy="Name it in `packages` if another version shall recompute, in `recorded` if not.",
        )


def _provides(step: Step, name: str) -> frozenset[str]:
    try:
        return provides(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise _not_installed(step, name) from error


def _version(step: Step, name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise _not_installed(step, name) from error


def _not_installed(step: Step, name: str) -> CodeRefused:
    return CodeRefused(
        f"Step {step.name}, package {name}",
        found="no such distribution installed",
        expected="the packages a step names",
        remedy="Install it, or correct its name: that of the distribution (pillow), not of the module (PIL).",
    )
