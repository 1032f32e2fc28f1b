"""Running code as it was: the modules kept with a release, in a process of their own.

The kept modules take the place of today's files of the same name; whatever else they import is today's. So what ran then runs again as
long as the packages it needs still have what it uses; that they are other versions is said by the verdict.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.spec.canonical import canonical_json
from headrace.spec.columns import Column
from headrace.spec.transform import Step, Tensor
from headrace.transforms.chain import Failure, run_chain
from headrace.transforms.replay.steps import StepOutput, outputs_of

_TIME_LIMIT_SECONDS: Final = 600


class RecordedCodeFailed(HeadraceError):
    """The kept code does not run any more."""


def run_recorded(kept: dict[str, Any], sample: pa.Table) -> tuple[StepOutput, ...]:
    """One sample (one row) through the steps of a kept code document, in another process.

    Raises:
        RecordedCodeFailed: it does not run in today's surroundings.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-replay-") as name:
        folder = Path(name)
        (folder / "code.json").write_bytes(canonical_json(kept))
        _write(folder / "sample.arrow", sample)
        code = f"import sys; sys.path[:] = {sys.path!r}; from headrace.transforms.replay.recorded import main; main({name!r})"
        done = subprocess.run(  # noqa: S603 - this Python, with code of our own
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=_TIME_LIMIT_SECONDS
        )
        if done.returncode != 0:
            raise RecordedCodeFailed(
                "The kept code",
                found=done.stderr.strip()[-2000:] or f"exit code {done.returncode}",
                expected="code that runs as it did",
                remedy="Install the packages in the versions that the release records.",
            )
        return tuple(_read_output(folder, number) for number in range(len(kept["steps"])))


def main(folder: str) -> None:
    """The other process: run what lies in the folder, leave each step's output there."""
    place = Path(folder)
    kept = json.loads((place / "code.json").read_bytes())
    sys.meta_path.insert(0, KeptModules(kept["modules"]))
    for name in kept["modules"]:
        sys.modules.pop(name, None)  # what is loaded is today's
    steps = [step_from(one["declaration"]) for one in kept["steps"]]
    loaded = [(step, _function(step)) for step in steps]
    sample = _read(place / "sample.arrow")
    for number, output in enumerate(outputs_of(loaded, run_chain(loaded, sample))):
        _write(place / f"step-{number}.arrow", output.rows)
        facts = {
            "step": output.step,
            "version": output.version,
            "parts": output.parts,
            "failed": [vars(one) for one in output.failed],
        }
        (place / f"step-{number}.json").write_text(json.dumps(facts), encoding="utf-8")


def step_from(fields: dict[str, Any]) -> Step:
    """A step as it was declared, from the kept document."""

    def column(one: dict[str, Any]) -> Column | Tensor:
        if "shape" in one:
            return Tensor(name=one["name"], type=one["type"], shape=tuple(one["shape"]))
        return Column(name=one["name"], type=one["type"], null_text=tuple(one["null_text"]))

    values = {name: _tuples(value) for name, value in fields.items() if name != "columns"}
    return Step(**{**values, "columns": tuple(column(one) for one in fields["columns"])})


class KeptModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules from kept texts. A kept package still finds its other submodules where today's lies."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:  # noqa: ARG002 - the protocol's
        if name not in self._texts:
            return None
        today = importlib.machinery.PathFinder.find_spec(name, path)
        spec = importlib.util.spec_from_loader(name, self, origin=f"<kept {name}>")
        if spec is not None and today is not None:
            spec.submodule_search_locations = today.submodule_search_locations
        return spec

    def get_source(self, fullname: str) -> str:
        return self._texts[fullname]

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002 - the protocol's
        return False


def _function(step: Step) -> Any:
    module, _, name = step.function.partition(":")
    return getattr(importlib.import_module(module), name)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _write(path: Path, rows: pa.Table) -> None:
    with pa.OSFile(os.fspath(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


def _read(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.py_buffer(path.read_bytes())).read_all()


def _read_output(folder: Path, number: int) -> StepOutput:
    facts = json.loads((folder / f"step-{number}.json").read_bytes())
    return StepOutput(
        step=facts["step"],
        version=facts["version"],
        rows=_read(folder / f"step-{number}.arrow"),
        parts=None if facts["parts"] is None else tuple(facts["parts"]),
        failed=tuple(Failure(**one) for one in facts["failed"]),
    )
