"""What a function is made of: its own code, and everything of the project that it reaches.

From the function on, every name it reads of its surroundings is followed: helpers and classes of the project by their source (as
`syntax.py` sees it), constants, defaults, closures and the state of callable objects by their values, packages by name. What is
reached gets an entry of its own, numbered by the order of discovery, which is the order of names: the outcome does not depend on the
Python version, the machine, or what else is loaded. Two closures of one function are two entries.

What cannot be followed is refused with the reason, never skipped: a value of a type without a text, a module used as a value, code
that assigns its surroundings, the doors listed in `impure.py`.
"""

from __future__ import annotations

import builtins
import enum
import functools
import inspect
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from headrace.spec.canonical import digest_of
from headrace.transforms.errors import CodeRefused
from headrace.transforms.imports import imported_value
from headrace.transforms.impure import why_refused
from headrace.transforms.literals import NOT_PLAIN, literal
from headrace.transforms.origins import Origin, origin_of, origin_of_file, top_level
from headrace.transforms.scope import CHANGERS, Imported, Outside, Path, Scope, outside
from headrace.transforms.source import Text, class_scope, module_of, scope_of, text_of
from headrace.transforms.syntax import canonical

FORMAT: Final = 1
"""Of this description. Another number is another identity of all code: nothing made before is taken for the same."""


@dataclass(frozen=True, kw_only=True)
class Code:
    """A function, described.

    Attributes:
        digest: of everything below but the texts; equal means: does the same, given the same packages.
        root: what the entries begin with.
        entries: functions and classes of the project, by name.
        texts: the project's modules they stand in, whole, by module name.
        packages: top-level modules of installed packages that it reaches.
    """

    digest: str
    root: Any
    entries: dict[str, Any]
    texts: dict[str, str]
    packages: frozenset[str]


def code_of(function: Callable[..., Any], name: str) -> Code:
    """Describe a function, or any other callable. `name` is what a refusal calls it.

    Raises:
        CodeRefused: something it is made of cannot be told.
    """
    walk = _Walk(name)
    root = walk.value(function, name)
    described = {"format": FORMAT, "root": root, "entries": walk.entries}
    return Code(
        digest=digest_of(described),
        root=root,
        entries=walk.entries,
        texts={module: text.text for module, text in sorted(walk.texts.items())},
        packages=frozenset(walk.packages),
    )


class _Walk:
    """One walk from a function to all that it reaches."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._keys: dict[int, str] = {}
        self._kept: list[Any] = []  # an id is only unique while its object lives
        self.entries: dict[str, Any] = {}
        self.texts: dict[str, Text] = {}
        self.packages: set[str] = set()

    def value(self, value: Any, where: str) -> Any:
        """A reference to a value: its text, or the entry or package that describes it."""
        plain = literal(value, lambda item: self.value(item, where))
        if plain is not NOT_PLAIN:
            return plain
        if isinstance(value, (FunctionType, type)):
            return self._defined(value, where)
        if isinstance(value, ModuleType):
            return self._module(value, where)
        if isinstance(value, (MethodType, BuiltinFunctionType)):
            return self._bound(value, where)
        if isinstance(value, functools.partial):
            return ["partial", self.value(value.func, where), self.value(value.args, where), self.value(value.keywords, where)]
        if isinstance(value, enum.Enum):
            return ["member", self.value(type(value), where), value.name]
        if isinstance(value, logging.Logger):
            return ["logger", value.name]
        if hasattr(value, "__wrapped__"):  # functools.cache and its kin: the same results, kept
            return ["wrapped", self.value(type(value), where), self.value(value.__wrapped__, where)]
        return self._instance(value, where)

    def _defined(self, value: Any, where: str) -> Any:
        """A function or class: of the project by an entry, of others by its path."""
        is_function = isinstance(value, FunctionType)
        origin = origin_of_file(value.__code__.co_filename) if is_function else origin_of(value.__module__)
        module = str(value.__globals__.get("__name__")) if is_function else value.__module__
        if origin is not Origin.PROJECT:
            path = self._foreign(origin, f"{module}.{value.__qualname__}", where)
            inner = getattr(value, "__wrapped__", None) if is_function else None
            return path if inner is None else ["wrapped", path, self.value(inner, where)]
        if id(value) not in self._keys:
            self._enter(value, f"{module}:{value.__qualname__}")
        return ["code", self._keys[id(value)]]

    def _enter(self, value: Any, name: str) -> None:
        key = f"{name}#{sum(one.rpartition('#')[0] == name for one in self._keys.values())}"
        self._keys[id(value)] = key
        self._kept.append(value)
        self.entries[key] = {}  # it stands in its place before what it reaches, so that code may reach itself
        self.entries[key] = self._function(value, key) if isinstance(value, FunctionType) else self._class(value, key)

    def _function(self, function: FunctionType, key: str) -> Any:
        text = self._text(module_of(function))
        node = scope_of(text, function.__code__)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        around = {**vars(builtins), **function.__globals__}
        for name, cell in cells.items():
            try:
                around[name] = cell.cell_contents
            except ValueError:
                raise self._refused(f"{key} {name}", "a variable that is not set yet", "variables that are set") from None
        return {
            "syntax": digest_of(canonical(node)),
            "reads": self._reads(text, node, around, key),
            "defaults": [self.value(item, f"{key} defaults") for item in function.__defaults__ or ()],
            "keyword_defaults": self.value(dict(sorted((function.__kwdefaults__ or {}).items())), f"{key} defaults"),
        }

    def _class(self, value: type, key: str) -> Any:
        text = self._text(sys.modules[value.__module__])
        node = class_scope(text, value.__qualname__)
        for method in vars(value).values():
            code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
            if code is not None and not code.co_filename.startswith("<") and origin_of_file(code.co_filename) is Origin.PROJECT:
                scope_of(text, code)  # raises when the file holds other code than what runs
        around = {**vars(builtins), **vars(sys.modules[value.__module__])}
        return {"syntax": digest_of(canonical(node)), "reads": self._reads(text, node, around, key)}

    def _reads(self, text: Text, node: Scope, around: dict[str, Any], key: str) -> dict[str, Any]:
        found = outside(text.table, node)
        if found.changes:
            names = ", ".join(found.changes)
            raise self._refused(
                f"{key} {names}", "a name of its surroundings that it assigns", "code that changes nothing around it"
            )
        return {".".join(path): self._read(text, path, found, around, key) for path in found.reads}

    def _read(self, text: Text, path: Path, found: Outside, around: dict[str, Any], key: str) -> Any:
        where = f"{key} {'.'.join(path)}"
        imported = text.imports.get(path[0])
        if path[0] in found.imports:
            return self._attribute(imported_value(found.imports[path[0]], text.module, where), path[1:], where)
        if path[0] not in around or path[0] == "__file__":
            raise self._refused(where, "a name that is bound to nothing, or to a place on this machine", "names with a value")
        value = around[path[0]]
        if value is vars(builtins).get(path[0], around):
            return self._foreign(Origin.PYTHON, ".".join(["builtins", *path]), where)
        if len(path) > 1 and path[1] in CHANGERS and isinstance(value, (list, dict, set, bytearray)):
            raise self._refused(where, "a change of a value around it", "code that changes nothing around it")
        if imported is not None and not isinstance(value, ModuleType):
            path_there = self._taken_from_package(imported, path, where)
            if path_there is not None:
                return path_there
        return self._attribute(value, path[1:], where)

    def _taken_from_package(self, imported: Imported, path: Path, where: str) -> Any:
        """`pi` of `from math import pi`: the package says what it is, whatever its type. None for the project's own."""
        if imported.level > 0 or imported.name is None or origin_of(imported.module) is Origin.PROJECT:
            return None
        return self._foreign(origin_of(imported.module), ".".join([imported.module, imported.name, *path[1:]]), where)

    def _attribute(self, value: Any, path: Path, where: str) -> Any:
        """What is left when attributes of modules are followed as far as they go."""
        rest = list(path)
        while isinstance(value, ModuleType):
            origin = origin_of(value.__name__)
            if origin is not Origin.PROJECT:
                return self._foreign(origin, ".".join([value.__name__, *rest]), where)
            if not rest:
                return self._module(value, where)
            name = rest.pop(0)
            if not hasattr(value, name):
                raise self._refused(where, f"nothing called {name} in module {value.__name__}", "names that are there")
            value = getattr(value, name)
        if rest and isinstance(value, type) and origin_of(value.__module__) is not Origin.PROJECT:
            return self._foreign(origin_of(value.__module__), ".".join([value.__module__, value.__qualname__, *rest]), where)
        return self.value(value, where)

    def _module(self, module: ModuleType, where: str) -> Any:
        origin = origin_of(module.__name__)
        if origin is Origin.PROJECT:
            raise self._refused(where, f"module {module.__name__} used as a value", "the names in it that are used")
        return self._foreign(origin, module.__name__, where)

    def _bound(self, value: Any, where: str) -> Any:
        owner = value.__self__
        if owner is None or isinstance(owner, ModuleType):
            module = value.__module__ or "builtins"
            return self._foreign(origin_of(module), f"{module}.{value.__qualname__}", where)
        if isinstance(owner, type) and origin_of(owner.__module__) is not Origin.PROJECT:
            return self._foreign(origin_of(owner.__module__), f"{owner.__module__}.{value.__qualname__}", where)
        return ["method", self.value(owner, where), value.__name__]

    def _instance(self, value: Any, where: str) -> Any:
        """An object of a class of the project: the class, and what it holds."""
        kind = type(value)
        if origin_of(kind.__module__) is not Origin.PROJECT:
            raise self._refused(where, f"a value of type {kind.__module__}.{kind.__qualname__}", "values that have a text")
        slots = [name for one in kind.__mro__ for name in _slots(one) if hasattr(value, name)]
        state = {**{name: getattr(value, name) for name in slots}, **getattr(value, "__dict__", {})}
        return ["object", self.value(kind, where), self.value(dict(sorted(state.items())), where)]

    def _foreign(self, origin: Origin, dotted: str, where: str) -> Any:
        reason = why_refused(dotted)
        if reason is not None:
            raise self._refused(where, f"{dotted}: {reason}", "code whose result is a function of its input and parameters")
        if origin is Origin.PACKAGE:
            self.packages.add(top_level(dotted))
        return [origin.value, dotted]

    def _text(self, module: ModuleType) -> Text:
        if module.__name__ not in self.texts:
            self.texts[module.__name__] = text_of(module)
        return self.texts[module.__name__]

    def _refused(self, where: str, found: str, expected: str) -> CodeRefused:
        return CodeRefused(
            f"{self._name}, {where}",
            found=found,
            expected=expected,
            remedy="Pass what it needs as a parameter or through its input; otherwise its results could be served stale.",
        )


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
