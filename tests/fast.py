"""The fast lane: the tests that touch neither database, Redis, language model nor process. Decides by itself.

`--lane fast` leaves out the other tests. A file that its own text gives away is not even imported, so that collecting
takes seconds. Knows nothing of how long a test takes: a test that computes for long is marked `slow`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.lanes import SLOW

ROOT = Path(__file__).parents[1]
FIXTURES = {"db", "transactional_db", "django_db_setup", "live_server", "redis_url", "model_path"}
"""Of tests/conftest.py and pytest-django. Each fixture that needs one of these has it among the test's names too."""
MARKS = {"django_db", "slow", "gpu", "vllm"}
MODULES = {
    "subprocess",
    "multiprocessing",
    "tests.processes",
    "tests.simulation.database",
    "django.test.TestCase",
    "django.test.TransactionTestCase",
    "hypothesis.extra.django",
}
"""A file that imports one of these starts a process, or has tests with a database that no fixture names."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True leaves out a file or folder; None lets other plugins decide."""
    if not _is_on(config) or not collection_path.is_relative_to(config.rootpath):
        return None
    name = f"{collection_path.relative_to(config.rootpath).as_posix()}/"
    is_file = collection_path.suffix == ".py"
    return name.startswith(SLOW) or (is_file and not may_be_fast(collection_path)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not _is_on(config):
        return
    left_out = [item for item in items if not is_fast(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if is_fast(item)]


def is_fast(item: pytest.Item) -> bool:
    names = set(getattr(item, "fixturenames", ()))
    is_marked = any(item.get_closest_marker(mark) for mark in MARKS)
    return not names & FIXTURES and not is_marked and not _runs_on_redis(item)


def _runs_on_redis(item: pytest.Item) -> bool:
    """True: the test runs in memory and on Redis, and this is the second. Such a fixture asks for its server late."""
    parameters = getattr(item, "callspec", None)
    return parameters is not None and any(
        value == "redis" for value in parameters.params.values() if type(value) is str
    )


def _is_on(config: pytest.Config) -> bool:
    return bool(config.option.lane == "fast")


def may_be_fast(file: Path) -> bool:
    """False: the text of the file says of each of its tests that it is not fast."""
    return not _is_marked(file) and not _imports_any(file)


def _is_marked(file: Path) -> bool:
    """True: `pytestmark` at its top has one of MARKS."""
    assigned = (node for node in _tree(file).body if isinstance(node, ast.Assign))
    marks = "".join(ast.unparse(node.value) for node in assigned if ast.unparse(node.targets[0]) == "pytestmark")
    return any(mark in marks for mark in MARKS)


@cache
def _imports_any(file: Path) -> bool:
    """True: the file, or a module of the tests that it imports, imports one of MODULES."""
    names = list(_imports(file))
    if MODULES & set(names):
        return True
    own = (ROOT / f"{name.replace('.', '/')}.py" for name in names if name.startswith("tests."))
    return any(_imports_any(module) for module in own if module.is_file() and module != file)


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))
