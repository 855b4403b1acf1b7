"""Decides which tests a change reaches, by the import tables of tests/architecture. Runs nothing.

A changed package reaches itself and the packages that may import it. A test file runs if the change reaches the package
that it mirrors, or what it imports, itself or through a module of the tests.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath

from tests.architecture.test_imports import ALLOWED, SITE_IN_FULL, SITE_MAY_IMPORT

ROOT = Path(__file__).resolve().parents[1]
CROSSING = (
    "tests/browser",
    "tests/conformance",
    "tests/docker",
    "tests/faults",
    "tests/gpu",
    "tests/postgres",
    "tests/scoreboard",
    "tests/simulation",
    "tests/supervisor",
)
"""Suites of the whole product. Every change reaches them, so they run by name, or where their own files changed."""
_EVERYTHING = ("requirements*.txt", "constraints.txt", "pyproject.toml", "tests/conftest.py")
_TREE = ("tests/architecture/", "tests/docs/test_links.py")
"""Tests that read the whole tree. They run with every change."""
_OUTSIDE = {"docker/*": "tests/docker", "docs/*": "tests/docs", "*.md": "tests/docs"}
"""Files that are data of a folder of tests, and lie elsewhere."""
_SEEN = ("frontend/src/*.svelte", "frontend/src/*.css")
"""Their change shows in a browser alone, so it runs the browser's suite."""
_ADDRESS = re.compile(r'"/(?:api|v1)/')
"""A test that names one calls webapp.api without an import of it."""


@dataclass(frozen=True)
class Tables:
    """Who is downstream of whom. A node is a package, a module of scripts or benchmarks, or a file of the tests."""

    downstream: Mapping[str, set[str]]
    """Package to itself and the packages that may import it, directly or not."""
    nodes: Mapping[str, set[str]]
    """Test file to itself, the package that it mirrors, and all that it imports."""
    plugins: frozenset[str] = frozenset()
    """Files of the tests that each run of pytest loads."""


@dataclass
class Choice:
    """What is to run, and why."""

    everything: str = ""
    """The changed file that reaches every test; empty: there is none."""
    tests: dict[str, str] = field(default_factory=dict)
    """Test file to the reason."""
    has_page: bool = False
    """True: the page's checks and tests run."""
    is_whole_page: bool = False
    """True: all tests of the page run, because one of the changed files is none that they import."""


def choose(changed: Iterable[str], tables: Tables, suites: Iterable[str] = ()) -> Choice:
    """The choice for changed files and for suites that are asked for by name. Paths are relative to the root."""
    choice = Choice()
    for path in sorted(changed):
        if path in tables.plugins or _fits(path, _EVERYTHING):
            choice.everything = choice.everything or path
        is_of_page = path.startswith(("frontend/", "tests/golden/"))
        choice.has_page |= is_of_page
        choice.is_whole_page |= is_of_page and not path.startswith("frontend/src/")
        for file, reason in _reached_tests(path, tables):
            choice.tests.setdefault(file, reason)
    for suite in suites:
        choice.tests |= dict.fromkeys(_below(suite, tables), "asked for by name")
    return choice


def _reached_tests(path: str, tables: Tables) -> Iterator[tuple[str, str]]:
    yield from ((file, "reads the whole tree") for file in tables.nodes if file.startswith(_TREE))
    if _fits(path, _SEEN):
        yield from ((file, f"shows {path}") for file in _below("tests/browser", tables))
    yield from ((file, f"uses {path}") for file in _users(path, tables))
    reached = _reached(path, tables)
    for file, nodes in tables.nodes.items():
        found = sorted(nodes & reached)
        if found and (file == path or not file.startswith(CROSSING)):
            yield file, f"{found[0]} is downstream of {path}"


def _reached(path: str, tables: Tables) -> set[str]:
    """The nodes that a changed file reaches."""
    if path.startswith("tests/"):
        return {path}
    package = package_of(path)
    if package in tables.downstream:
        return {package.partition(".")[0], f"calls {package}"} | tables.downstream[package]
    if path.startswith(("webapp/", "inference/")) or path == "manage.py":
        side = "inference" if path.startswith("inference/") else "webapp"
        return {side, package}.union(*(reached for name, reached in tables.downstream.items() if name.startswith(side)))
    return {package}


def _users(path: str, tables: Tables) -> list[str]:
    """The tests that use a file of fixtures or of data: all those of its folder, or of the next above that has some."""
    outside = next((folder for pattern, folder in _OUTSIDE.items() if fnmatch(path, pattern)), None)
    file = PurePosixPath(f"{outside}/any" if outside else path)
    if file.parts[0] != "tests" or (file.suffix == ".py" and file.name != "conftest.py"):
        return []
    return next((found for folder in file.parents if (found := _below(str(folder), tables))), [])


def package_of(path: str) -> str:
    """The package or module at the second level, as in webapp.models.billing and scripts.docs."""
    return ".".join(PurePosixPath(path).with_suffix("").parts[:2])


def _below(folder: str, tables: Tables) -> list[str]:
    return [file for file in tables.nodes if file.startswith(f"{folder}/")]


def _fits(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)


@cache
def read_tables() -> Tables:
    """The tables of this tree."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    nodes = {_name(file): _nodes(file) | {_mirrored(_name(file))} for file in files}
    loaded = re.findall(r"-p tests\.(\w+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    return Tables(downstream(), nodes, frozenset(f"tests/{name}.py" for name in loaded))


def downstream() -> dict[str, set[str]]:
    """A package of the site may import those of inference that the site as a whole may."""
    allowed = ALLOWED | {package: names | SITE_MAY_IMPORT for package, names in SITE_IN_FULL.items()}
    below = {package: {package} for package in allowed}
    for package, names in allowed.items():  # a package stands after all that it may import
        for reached in below.values():
            if reached & names:
                reached.add(package)
    return below


def _mirrored(name: str) -> str:
    """The group that tests/webapp/models/billing/test_prices.py tests; the whole side for a file above the groups."""
    _, side, *rest = PurePosixPath(name).parts
    return f"{side}.{rest[0]}" if len(rest) > 1 else side


@cache
def _nodes(file: Path) -> frozenset[str]:
    """A file of the tests, and all that it imports, also through other files of the tests."""
    found = {_name(file)}
    for name in _imports(file):
        module = ROOT / f"{name.replace('.', '/')}.py"
        if not name.startswith("tests."):
            found.add(".".join(name.split(".")[:2]))
        elif module.is_file() and module != file:
            found |= _nodes(module)
    if _ADDRESS.search(file.read_text("utf-8")):
        found.add("calls webapp.api")
    return frozenset(found)


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def base_of(ref: str = "") -> str:
    """The commit to compare with: the named one's merge base with HEAD, else main's, else HEAD."""
    found = (_git("merge-base", name, "HEAD") for name in ([ref] if ref else ["main", "HEAD"]))
    base = next((commit for commit in found if commit), "")
    if not base:
        raise SystemExit(f"sightglass: git knows no {ref or 'HEAD'}")
    return base


def changed_since(base: str) -> list[str]:
    """Also what is not committed, and new files that git does not know yet."""
    known = _git("diff", "--name-only", "--no-renames", base)
    return sorted({*known.splitlines(), *_git("ls-files", "--others", "--exclude-standard").splitlines()})


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
