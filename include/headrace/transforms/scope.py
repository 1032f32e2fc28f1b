"""Which names of its surroundings a function or class reads, and which it changes.

`symtable`, the compiler's own analysis, says which names come from outside; the tree says what is read of them: `helpers.resize` reads
`resize` of `helpers`. Imports inside a function count as surroundings. Annotations do not count: they change no result.

A name that is local in one nested scope and outer in another counts as outer with all that is read of either: one attribute too many
is looked at, never one too few.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from headrace.transforms.syntax import bare

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Path = tuple[str, ...]
"""A name and the attributes read of it, in order."""

CHANGERS: Final = frozenset(
    {
        "append",
        "add",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)
"""Methods that change a list, dict or set."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """One name bound by an import: the module, and the name taken from it (None: the module itself). `level` counts leading dots."""

    module: str
    name: str | None
    level: int = 0


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What a scope has to do with its surroundings.

    Attributes:
        reads: sorted, each once.
        changes: the outer names it assigns, deletes, or assigns a part of.
        imports: names its own import statements bind.
    """

    reads: tuple[Path, ...]
    changes: tuple[str, ...]
    imports: dict[str, Imported]


def outside(module: symtable.SymbolTable, node: Scope) -> Outside:
    """The surroundings of `node`, a scope of a module whose table is `module`."""
    tree = bare(node, fields=False)
    imports = imports_in(tree)
    own = _table(module, node)
    names = {*_globals(own), *(own.get_frees() if isinstance(own, symtable.Function) else ()), *_header(tree), *imports}
    changes = {name for name in _changed(tree) if name in names} | _declared_global(tree) | _nonlocal(own)
    return Outside(
        reads=tuple(sorted({path for path in _paths(tree) if path[0] in names})), changes=tuple(sorted(changes)), imports=imports
    )


def module_imports(tree: ast.Module) -> dict[str, Imported]:
    """What a module's import statements bind, those inside functions and classes left out."""
    return imports_in(*(node for node in tree.body if not isinstance(node, Scope)))


def imports_in(*trees: ast.AST) -> dict[str, Imported]:
    """What import statements below `trees` bind, the last one winning."""
    found: dict[str, Imported] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname is not None else alias.name.partition(".")[0]
                found[alias.asname or whole] = Imported(module=whole, name=None)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = Imported(module=node.module or "", name=alias.name, level=node.level)
    return found


def _table(table: symtable.SymbolTable, node: Scope) -> symtable.SymbolTable:
    name = "lambda" if isinstance(node, ast.Lambda) else node.name
    for one in _tables(table):
        if one.get_name() == name and one.get_lineno() == node.lineno and one.get_type() in {"function", "class"}:
            return one
    raise LookupError(f"no scope {name} at line {node.lineno}")


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for one in _tables(table):
        for symbol in one.get_symbols():
            if symbol.is_global():
                yield symbol.get_name()


def _nonlocal(table: symtable.SymbolTable) -> set[str]:
    """Names of enclosing functions that this scope itself assigns."""
    frees = set(table.get_frees()) if isinstance(table, symtable.Function) else set()
    return {
        symbol.get_name()
        for one in _tables(table)
        for symbol in one.get_symbols()
        if symbol.is_nonlocal() and symbol.get_name() in frees
    }


def _header(tree: ast.AST) -> Iterator[str]:
    """Names in decorators, defaults and bases: they belong to the scope around."""
    parts: list[ast.expr] = []
    if isinstance(tree, ast.ClassDef):
        parts = [*tree.decorator_list, *tree.bases, *(keyword.value for keyword in tree.keywords)]
    elif isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        parts = list(tree.decorator_list)
    for part in parts:
        yield from (node.id for node in ast.walk(part) if isinstance(node, ast.Name))


def _paths(tree: ast.AST) -> Iterable[Path]:
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            attributes: list[str] = []
            one: ast.expr = node
            while isinstance(one, ast.Attribute):
                attributes.append(one.attr)
                inner.add(id(one))
                one = one.value
            inner.add(id(one))
            if isinstance(one, ast.Name):
                yield (one.id, *reversed(attributes))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inner:
            yield (node.id,)


def _changed(tree: ast.AST) -> Iterator[str]:
    """Names of which a part is assigned or deleted: `X[k] = v`, `X.a = v`, `del X[k]`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            one: ast.expr = node
            while isinstance(one, (ast.Attribute, ast.Subscript)):
                one = one.value
            if isinstance(one, ast.Name):
                yield one.id


def _declared_global(tree: ast.AST) -> set[str]:
    return {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
