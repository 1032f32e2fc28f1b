"""From a dotted path in a declaration to the function it names. Imported where it runs, never at DAG parse."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pyarrow as pa

from headrace.errors import FinalError

RowsFunction = Callable[[pa.Table], pa.Table]


class FunctionNotFound(FinalError, LookupError):
    """A declaration names a function that cannot be imported."""

    __str__ = FinalError.__str__  # LookupError would print the tuple of its arguments


def rows_function(dotted: str) -> RowsFunction:
    """The function at `package.module:function`. Raises `FunctionNotFound`."""
    module_name, _, name = dotted.partition(":")
    try:
        function: RowsFunction = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise FunctionNotFound(
            dotted,
            found=f"{type(error).__name__}: {error}",
            expected="an importable function",
            remedy="Correct the path in the declaration; the project's root must be on PYTHONPATH.",
        ) from error
    return function
