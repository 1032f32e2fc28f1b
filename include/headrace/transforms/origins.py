"""Where code comes from: the project, an installed package, or Python itself.

A module belongs to Python when its top-level name is in the standard library's own list, to a package when its file lies in a folder
that installers use, and to the project otherwise. Only the project's code is identified by its source; a package is identified by its
version, Python by the version that is recorded with every run.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Final

_INSTALLED: Final = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("purelib", "platlib")})
_FOLDERS: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Origin(Enum):
    """Who is responsible for a module."""

    PROJECT = "project"
    PACKAGE = "package"
    PYTHON = "python"


def origin_of(module: str) -> Origin:
    """The origin of an imported module, by name."""
    if top_level(module) in sys.stdlib_module_names or top_level(module) in sys.builtin_module_names:
        return Origin.PYTHON
    loaded = sys.modules.get(module)
    return Origin.PROJECT if loaded is None else _origin_of_file(loaded)


def origin_of_file(path: str) -> Origin:
    """The origin of a source file; of what has none (`<string>`) the project's."""
    real = os.path.realpath(path)
    if real.startswith(_INSTALLED) or any(folder in real for folder in _FOLDERS):
        return Origin.PACKAGE
    return Origin.PYTHON if real.startswith(os.path.realpath(sysconfig.get_path("stdlib")) + os.sep) else Origin.PROJECT


def top_level(module: str) -> str:
    """`PIL` of `PIL.Image`."""
    return module.partition(".")[0]


@cache
def provides(distribution: str) -> frozenset[str]:
    """Top-level modules of an installed distribution. Raises PackageNotFoundError."""
    found = importlib.metadata.distribution(distribution)
    listed = (found.read_text("top_level.txt") or "").split()
    files = [path.parts[0] for path in found.files or () if path.suffix in {".py", ".so", ".pyd"} and ".." not in path.parts]
    return frozenset([*listed, *(name.partition(".")[0] for name in files)])


def distributions_of(module: str) -> list[str]:
    """The distributions that provide a top-level module; reads the metadata of every one, so only for messages."""
    return sorted(set(importlib.metadata.packages_distributions().get(module, [])))


def _origin_of_file(module: ModuleType) -> Origin:
    file = getattr(module, "__file__", None)
    if file is not None:
        return origin_of_file(file)
    folders = list(getattr(module, "__path__", ()))  # a namespace package has no file
    return origin_of_file(folders[0] + os.sep) if folders else Origin.PACKAGE
