"""Modules written for one test and imported as a user's would be, and edited and imported again."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from headrace.transforms.code import Code, code_of


class Project:
    """A folder of modules on the import path. `write` replaces a module's text; what was imported before is forgotten."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: set[str] = set()

    def write(self, **modules: str) -> Project:
        """Modules by name; the texts may be indented."""
        for name, text in modules.items():
            (self.folder / f"{name}.py").write_text(textwrap.dedent(text))
            self._names.add(name)
        self.forget()
        return self

    def load(self, path: str) -> Any:
        """What stands at `module:name`."""
        module, _, name = path.partition(":")
        return getattr(importlib.import_module(module), name)

    def code(self, path: str = "steps:f") -> Code:
        return code_of(self.load(path), path)

    def digest(self, path: str = "steps:f", **modules: str) -> str:
        """The digest after writing these modules."""
        return self.write(**modules).code(path).digest

    def forget(self) -> None:
        importlib.invalidate_caches()
        for name in self._names:
            sys.modules.pop(name, None)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """An empty project, on the import path of this process and of those it starts."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # an edit within a second must not meet the old compiled file
    made = Project(folder)
    yield made
    made.forget()
