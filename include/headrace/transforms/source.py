"""The source text of code that is loaded, and the proof that it is the text of that very code.

A file may have changed since it was imported, and an identity taken from the new text would be a lie about the old code. So the text is
compiled again, and a function's compiled form must be equal to the one that runs.
"""

from __future__ import annotations

import ast
import symtable
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from headrace.transforms.errors import CodeRefused
from headrace.transforms.scope import Imported, Scope, module_imports

_RESTART = "Run it in a process that has loaded the files as they are."


@dataclass(frozen=True, kw_only=True)
class Text:
    """One module's source: as text, parsed, compiled, and analysed; and what its imports bind."""

    module: str
    text: str
    tree: ast.Module
    compiled: tuple[CodeType, ...]
    table: symtable.SymbolTable
    imports: dict[str, Imported]


def text_of(module: ModuleType) -> Text:
    """The source of a loaded module, as its loader gives it now. Raises `CodeRefused` when it gives none."""
    spec = module.__spec__
    loader: Any = None if spec is None else spec.loader
    text = loader.get_source(spec.name) if spec is not None and hasattr(loader, "get_source") else None
    if text is None:
        raise CodeRefused(
            module.__name__,
            found="no source text",
            expected="a module that is imported from a .py file",
            remedy="Move the function into a module of the project.",
        )
    name = module.__file__ or module.__name__
    tree = ast.parse(text)
    compiled = tuple(_codes(_compiled(text, name)))
    table = symtable.symtable(text, name, "exec")
    return Text(module=module.__name__, text=text, tree=tree, compiled=compiled, table=table, imports=module_imports(tree))


def module_of(function: FunctionType) -> ModuleType:
    """The module a function lives in. Raises `CodeRefused` when it is no longer the one that is loaded."""
    name = function.__globals__.get("__name__")
    module = sys.modules.get(str(name))
    if module is None or vars(module) is not function.__globals__:
        raise CodeRefused(
            f"{name}:{function.__qualname__}",
            found="a module that is not loaded under its name",
            expected="a function of an importable module",
            remedy="Move the function into a module of the project.",
        )
    return module


def scope_of(text: Text, code: CodeType) -> Scope:
    """The function in the text whose compiled form is `code`.

    Raises:
        CodeRefused: there is none, or more than one.
    """
    who = f"{text.module}:{code.co_qualname}"
    if code not in text.compiled:
        raise CodeRefused(who, found="other code than its file holds now", expected="the code that was loaded", remedy=_RESTART)
    found = [node for node in ast.walk(text.tree) if _is_at(node, code)]
    if len(found) != 1:
        raise CodeRefused(
            who,
            found=f"{len(found)} functions that begin in line {code.co_firstlineno}",
            expected="one function a line",
            remedy="Write each on a line of its own.",
        )
    scope: Any = found[0]
    return scope  # type: ignore[no-any-return] # what `_is_at` lets through


def class_scope(text: Text, name: str) -> ast.ClassDef:
    """The class of that name at the top of a module. Raises `CodeRefused`."""
    found = [node for node in text.tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    if len(found) != 1:
        raise CodeRefused(
            f"{text.module}:{name}",
            found=f"{len(found)} classes of that name at the top of the module",
            expected="one, which is where its parts can be told",
            remedy="Move the class to the top of its module.",
        )
    return found[0]


def _is_at(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    return False


def _compiled(text: str, name: str) -> CodeType:
    code: CodeType = compile(text, name, "exec", dont_inherit=True)
    return code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
