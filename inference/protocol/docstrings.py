"""Reads the docstrings under the struct fields of a module or package. Knows nothing of their use."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from types import ModuleType


def field_docstrings(module: ModuleType) -> dict[tuple[str, str], str]:
    """(class name, field name) → the string that stands under the field; of a package, in all its files."""
    docs: dict[tuple[str, str], str] = {}
    for source in (module, *_files(module)):
        for node in ast.parse(inspect.getsource(source)).body:
            if isinstance(node, ast.ClassDef):
                docs |= {(node.name, field): text for field, text in _in_class(node)}
    return docs


def _files(module: ModuleType) -> list[ModuleType]:
    paths = getattr(module, "__path__", [])
    return [importlib.import_module(f"{module.__name__}.{file.name}") for file in pkgutil.iter_modules(paths)]


def _in_class(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found.append((name, inspect.cleandoc(text)))
    return found
