"""The page of conformance names each test of the clients, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.conformance.table import CLIENTS, PAGE

FOLDER = Path(__file__).parents[1] / "conformance"


def names_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found = (each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return {name.removeprefix("test_").replace("_", " ") for name in found if name.startswith("test_")}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(FOLDER).with_suffix("").parts)


def test_every_module_of_clients_is_in_the_table() -> None:
    assert {module_of(path) for path in FOLDER.rglob("test_*.py")} == CLIENTS.keys()


def test_the_page_has_a_line_for_each_test() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    told = {(row[0].removeprefix("| "), row[1]) for row in rows[1:]}
    paths = {module_of(path): path for path in FOLDER.rglob("test_*.py")}
    assert told == {(client, name) for module, client in CLIENTS.items() for name in names_of(paths[module])}
