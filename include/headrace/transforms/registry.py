"""From a declared step to the function it names, checked before it is called."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from headrace.errors import FinalError
from headrace.spec.transform import Step


class FunctionNotFound(FinalError, LookupError):
    """A step names a function that cannot be imported, or that does not take what it will be given."""

    __str__ = FinalError.__str__  # LookupError would print the tuple of its arguments


def function_of(step: Step) -> Callable[..., Any]:
    """The function at `package.module:function`, able to take its sample and its parameters.

    Raises:
        FunctionNotFound: names what is wrong.
    """
    module_name, _, name = step.function.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), name)
    except Exception as error:  # a user's module may raise anything while it is imported
        raise _refused(step, f"{type(error).__name__}: {error}", "an importable function") from error
    if not callable(function):
        raise _refused(step, f"a {type(function).__name__}", "a function")
    keywords = [*(name for name, _ in step.parameters), *step.also]
    try:
        inspect.signature(function).bind(None, **dict.fromkeys(keywords))
    except TypeError as error:
        raise _refused(step, str(error), f"a function of one value and the keywords {', '.join(keywords) or 'none'}") from error
    return function  # type: ignore[no-any-return] # whatever it is, it can be called


def _refused(step: Step, found: str, expected: str) -> FunctionNotFound:
    return FunctionNotFound(
        f"Step {step.name}, {step.function}",
        found=found,
        expected=expected,
        remedy="Correct the declaration or the function; the project's root must be on PYTHONPATH.",
    )
