"""Python source as a value that says what it does, not how it is written.

The parsed tree without what changes nothing: positions, comments, layout, docstrings, type annotations of functions, statements that are
only a constant. Empty fields are left out, so that fields newer Pythons add (type parameters) do not show where they are not used,
and neighbouring texts of f-strings are joined, since versions cut them differently. So the same source gives the same value on every
supported Python; `tests/golden/` holds some for ever.

It cannot see that two different texts do the same: a renamed local variable is another value.
"""

from __future__ import annotations

import ast
import copy
from typing import Any, Final

_IGNORED: Final = {"type_comment", "type_params", "type_ignores", "kind", "ctx"}


def bare(node: ast.AST, *, fields: bool = True) -> ast.AST:
    """A copy without annotations. `fields`: keep those of a class's fields, which dataclasses read."""
    stripped: ast.AST = _Bare(fields=fields).visit(copy.deepcopy(node))
    return stripped


def canonical(node: ast.AST) -> Any:
    """What a function or class does, as nested lists of JSON's own types."""
    return _node(bare(node))


def constant(value: Any) -> list[Any]:
    """A literal with its type, so that 1, 1.0 and True differ; floats by their exact hexadecimal form."""
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return [repr(value)]
    if isinstance(value, int):
        return ["int", hex(value)]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, complex):
        return ["complex", value.real.hex(), value.imag.hex()]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, str):
        return ["str", value]
    raise TypeError(f"no literal of Python: {type(value).__name__}")


def _node(node: ast.AST) -> list[Any]:
    if isinstance(node, ast.Constant):
        return ["Constant", *constant(node.value)]
    if isinstance(node, ast.JoinedStr):
        return ["JoinedStr", [_any(value) for value in _joined(node.values)]]
    fields = [(name, _plain(name, value)) for name, value in ast.iter_fields(node) if name not in _IGNORED]
    return [type(node).__name__, *([name, value] for name, value in fields if value is not None and value != [])]


def _plain(name: str, value: Any) -> Any:
    if name == "body" and isinstance(value, list):
        # Docstrings and other bare constants do nothing.
        value = [one for one in value if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    return _any(value)


def _any(value: Any) -> Any:
    if isinstance(value, ast.AST):
        return _node(value)
    if isinstance(value, list):
        return [_any(item) for item in value]
    return value


def _joined(values: list[ast.expr]) -> list[ast.expr]:
    joined: list[ast.expr] = []
    for value in values:
        last = joined[-1] if joined else None
        if isinstance(value, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(value=str(last.value) + str(value.value))
        elif not (isinstance(value, ast.Constant) and value.value == ""):
            joined.append(value)
    return joined


class _Bare(ast.NodeTransformer):
    """Drops annotations. `self._keep` is true directly inside a class, until a function begins."""

    def __init__(self, *, fields: bool) -> None:
        self._fields = fields
        self._keep = False

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._within(node, keep=self._fields)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._within(node, keep=False)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self._within(node, keep=False)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if self._keep:
            return node
        if node.value is not None:
            return ast.Assign(targets=[node.target], value=node.value)
        node.annotation = ast.Constant(value=None)  # the bare statement still makes the name local
        return node

    def _within(self, node: ast.AST, *, keep: bool) -> ast.AST:
        outer, self._keep = self._keep, keep
        self.generic_visit(node)
        self._keep = outer
        return node
