"""What an import statement inside a function binds: carried out, as the function would when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from headrace.transforms.errors import CodeRefused
from headrace.transforms.scope import Imported


def imported_value(imported: Imported, module: str, where: str) -> Any:
    """The module, or what is taken from it.

    Args:
        module: by name, the one the statement stands in.
        where: what a refusal calls it.

    Raises:
        CodeRefused: it cannot be imported.
    """
    package = sys.modules[module].__package__
    try:
        found = importlib.import_module("." * imported.level + imported.module, package)
        if imported.name is None:
            return found
        if hasattr(found, imported.name):
            return getattr(found, imported.name)
        return importlib.import_module(f"{found.__name__}.{imported.name}")
    except ImportError as error:
        raise CodeRefused(
            where, found=f"{type(error).__name__}: {error}", expected="an import that works", remedy="Install the package."
        ) from error
