"""A test observes what a package shows: it neither reads, replaces nor overrides a private name of our own packages.

Reads source with `ast`. A name is one of ours where a file of `webapp` or `inference` defines it.
Knows nothing of types: a private name of a test's own must differ from all of ours, unless `self` alone reaches it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("inference", "webapp")
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))
EXCEPTIONS: dict[str, str] = {}
"""Names that a test may reach, each with the reason. There is none."""
_PATCHES = {"setattr", "delattr", "getattr", "patch", "object"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text("utf-8"))


@cache
def ours() -> frozenset[str]:
    """All private names that our packages define."""
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return frozenset(name for file in files for name in defined(parsed(file)) if is_private(name))


def defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def reached(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The private names that a test imports, reads, patches or overrides, each with its line."""
    imported = set(imported_names(tree))
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith(PACKAGES):
                yield from ((node.lineno, each.name) for each in names)
            case ast.Attribute(value=value, attr=name) if not (isinstance(value, ast.Name) and value.id == "self"):
                yield node.lineno, name
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _PATCHES:
                yield from ((node.lineno, text.rpartition(".")[2]) for text in texts(args))
            case ast.ClassDef(bases=bases, body=body) if imported & {ast.unparse(base) for base in bases}:
                yield from ((each.lineno, each.name) for each in body if isinstance(each, ast.FunctionDef))


def imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            yield from (each.asname or each.name for each in node.names)


def texts(args: list[ast.expr]) -> Iterator[str]:
    return (arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def found(tree: ast.Module) -> list[str]:
    return sorted(f"line {line}: {name}" for line, name in reached(tree) if name in ours() - EXCEPTIONS.keys())


def test_no_test_reaches_into_a_package_of_ours() -> None:
    assert {str(path): names for path in TESTS if (names := found(parsed(path)))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from inference.engine.memory_errors import _PAUSE_S",
        "errors._num_failures",
        "monkeypatch.setattr('inference.engine.memory_errors._PAUSE_S', 0)",
        "monkeypatch.setattr(memory_errors, '_PAUSE_S', 0)",
        "from webapp.operations.supervisor.product import Product\nclass Mine(Product):\n    def _child(self): ...",
    ],
)
def test_each_way_into_a_package_is_found(source: str) -> None:
    assert len(found(ast.parse(source))) == 1


@pytest.mark.parametrize("source", ["self._num_failures", "session._setupstate", "x.__len__", "'_PAUSE_S'"])
def test_what_is_not_ours_is_let_through(source: str) -> None:
    assert found(ast.parse(source)) == []
