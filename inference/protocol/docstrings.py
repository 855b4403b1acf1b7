"""The docstrings under a module's struct fields, read from its source. Knows nothing of what they are used for."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType


def field_docstrings(module: ModuleType) -> dict[tuple[str, str], str]:
    """(class name, field name) → the string that stands under the field."""
    tree = ast.parse(inspect.getsource(module))
    docs: dict[tuple[str, str], str] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            docs |= {(node.name, field): text for field, text in _in_class(node)}
    return docs


def _in_class(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found.append((name, inspect.cleandoc(text)))
    return found
