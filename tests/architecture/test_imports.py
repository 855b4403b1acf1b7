"""The arrows: who may import whom. What is not listed is forbidden."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = ROOT / "docs" / "architecture.md"

ALLOWED: dict[str, set[str]] = {
    "inference.protocol": set(),
    "inference.eventlog": {"inference.protocol"},
    "inference.logs": set(),
    "inference.queue": {"inference.eventlog", "inference.logs"},
    "inference.modelfiles": set(),
    "inference.sandbox": set(),
    "inference.tokenization": {"inference.protocol", "inference.modelfiles", "inference.sandbox"},
    "inference.grammar": {"inference.protocol", "inference.sandbox", "inference.tokenization"},
    "inference.safety": {"inference.protocol"},
    "inference.kernels": set(),
    "inference.models": {"inference.modelfiles", "inference.kernels"},
    "inference.sampling": {"inference.protocol", "inference.kernels"},
    "inference.engine": {
        "inference.sampling",
        "inference.models",
        "inference.kernels",
        "inference.eventlog",
        "inference.protocol",
    },
    "inference.backends": {
        "inference.engine",
        "inference.eventlog",
        "inference.grammar",
        "inference.protocol",
        "inference.tokenization",
    },
    "inference.probes": {
        "inference.eventlog",
        "inference.modelfiles",
        "inference.models",
        "inference.protocol",
        "inference.tokenization",
    },
    "inference.simulation": {"inference.engine", "inference.models", "inference.protocol"},
    "inference.worker": {
        "inference.backends",
        "inference.engine",
        "inference.eventlog",
        "inference.grammar",
        "inference.kernels",
        "inference.logs",
        "inference.models",
        "inference.probes",
        "inference.protocol",
        "inference.queue",
        "inference.safety",
        "inference.simulation",
        "inference.tokenization",
    },
}
"""Inference from its ground floor to its workers: a package imports only such as stand above it. Debts: none."""

SITE: dict[str, set[str]] = {
    "webapp.ground": set(),
    "webapp.models": {"ground"},
    "webapp.identity": {"ground", "models"},
    "webapp.requests": {"ground", "models"},
    "webapp.tools": {"ground"},
    "webapp.traces": {"ground", "requests"},
    "webapp.content": {"ground", "models", "requests"},
    "webapp.usage": {"ground", "identity", "models", "requests", "traces"},
    "webapp.lifecycle": {"content", "ground", "identity", "models", "requests", "tools", "traces", "usage"},
    "webapp.surfaces": {
        "content",
        "ground",
        "identity",
        "lifecycle",
        "models",
        "requests",
        "tools",
        "traces",
        "usage",
    },
    "webapp.operations": {"ground", "identity", "lifecycle", "models", "requests", "surfaces", "traces", "usage"},
    "webapp.api": {
        "content",
        "ground",
        "identity",
        "lifecycle",
        "models",
        "operations",
        "requests",
        "surfaces",
        "tools",
        "traces",
        "usage",
    },
}
"""The site's groups from the ground floor to the edge: a group imports only groups that stand above it. Debts: none."""

WITHIN: dict[str, dict[str, set[str]]] = {
    "webapp.ground": {"postgres": set(), "context": set(), "gateway": set(), "audit": {"gateway"}},
    "webapp.models": {"billing": set(), "safety": set(), "registry": {"billing"}},
    "webapp.identity": {"accounts": set(), "keys": set(), "notices": set(), "presets": set()},
    "webapp.tools": {"mcpclient": set(), "": {"mcpclient"}},
    "webapp.traces": {"": set(), "explain": set(), "recordings": set()},
    "webapp.content": {"attachments": set(), "memory": set()},
    "webapp.usage": {
        "": set(),
        "limits": {""},
        "repricing": {""},
        "metrics": {""},
        "findings": {""},
        "alerts": {"", "findings"},
    },
    "webapp.lifecycle": {"": set(), "probes": set(), "stream": set(), "live": {"stream"}},
    "webapp.surfaces": {
        "chat": set(),
        "checks": set(),
        "learn": set(),
        "bring": set(),
        "runs": set(),
        "calls": set(),
        "batches": {"calls"},
    },
    "webapp.operations": {"supervisor": set(), "privacy": set(), "demo": set()},
}
"""The packages within a group, in the same way. `""`: the group's own modules and the folders that no table names."""

FOUNDATION = {"webapp.addresses", "webapp.celery", "webapp.environment", "webapp.identifiers"}
"""Modules at the top of the site that every package may import."""

SITE_MAY_IMPORT = {
    "inference.protocol",
    "inference.eventlog",
    "inference.logs",
    "inference.queue",
    "inference.sandbox",
    "inference.grammar",
    "inference.tokenization",
    "inference.safety",
}


def imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def package_of(name: str) -> str:
    return ".".join(name.split(".")[:2])


def files(package: str) -> list[Path]:
    return sorted((ROOT / package.replace(".", "/")).rglob("*.py"))


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    for path in files(package):
        own = {name for name in imports_of(path) if name.split(".")[0] in ("inference", "webapp")}
        assert {package_of(name) for name in own} <= ALLOWED[package] | {package}, path


@pytest.mark.parametrize("package", SITE)
def test_a_package_of_the_site_imports_only_what_it_may(package: str) -> None:
    allowed = {package, *FOUNDATION, *(f"webapp.{name}" for name in SITE[package])}
    for path in files(package):
        own = {package_of(name) for name in imports_of(path) if name.startswith("webapp")}
        assert own <= allowed, path


def room_of(name: str, group: str) -> str:
    """The package within its group that a module belongs to."""
    part = name.removeprefix(f"{group}.").partition(".")[0]
    return part if part in WITHIN[group] else ""


@pytest.mark.parametrize("group", WITHIN)
def test_a_package_within_a_group_imports_only_what_it_may(group: str) -> None:
    for path in files(group):
        room = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts), group)
        neighbours = {room_of(name, group) for name in imports_of(path) if name.startswith(f"{group}.")}
        assert neighbours <= WITHIN[group].get(room, set()) | {room}, path


@pytest.mark.parametrize("group", WITHIN)
def test_the_packages_within_a_group_stand_in_one_order(group: str) -> None:
    above: set[str] = set()
    for room, allowed in WITHIN[group].items():
        assert allowed <= above, room
        above.add(room)


def test_every_package_within_a_group_is_in_the_table() -> None:
    """A folder with rows of its own is such a package."""
    for migrations in (ROOT / "webapp").glob("*/*/migrations"):
        group, room = migrations.parts[-3:-1]
        assert room in WITHIN[f"webapp.{group}"], migrations


SITE_IN_FULL = {package: {f"webapp.{name}" for name in allowed} for package, allowed in SITE.items()}


@pytest.mark.parametrize("table", [ALLOWED, SITE_IN_FULL], ids=["inference", "webapp"])
def test_the_packages_stand_in_one_order(table: dict[str, set[str]]) -> None:
    """Each imports only packages that the table lists before it, so the imports have no ring."""
    above: set[str] = set()
    for package, allowed in table.items():
        assert allowed <= above, package
        above.add(package)


@pytest.mark.parametrize("table", [ALLOWED, SITE], ids=["inference", "webapp"])
def test_the_documentation_lists_the_packages_in_the_same_order(table: dict[str, set[str]]) -> None:
    listed = re.findall(r"^- `([a-z]+\.[a-z]+)`:", ARCHITECTURE.read_text("utf-8"), re.MULTILINE)
    assert [package for package in listed if package.split(".")[0] == next(iter(table)).split(".")[0]] == list(table)


@pytest.mark.parametrize("group", SITE)
def test_the_documentation_names_the_groups_that_a_group_may_import(group: str) -> None:
    (told,) = re.findall(rf"^- `{group}`: .* Imports ([a-z, ]+)\.$", ARCHITECTURE.read_text("utf-8"), re.MULTILINE)
    assert told == (", ".join(sorted(SITE[group])) or "no group")


def test_every_package_of_the_site_is_in_the_table() -> None:
    assert {f"webapp.{path.parent.name}" for path in (ROOT / "webapp").glob("*/__init__.py")} == SITE.keys()


def test_the_site_imports_only_eight_packages_of_the_inference_side() -> None:
    for path in files("webapp"):
        found = {package_of(name) for name in imports_of(path) if name.startswith("inference")}
        assert found <= SITE_MAY_IMPORT, path


def test_every_inference_package_is_in_the_table() -> None:
    packages = {f"inference.{path.parent.name}" for path in (ROOT / "inference").glob("*/__init__.py")}
    assert packages == ALLOWED.keys()


_BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == sys.argv[1]:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Block())
"""
_WORKER = "import inference.worker, inference.worker.host"
"""Without torch: neither a worker with a server elsewhere nor one that computes on the kernels needs it."""
_SITE = "import webapp.asgi, webapp.urls, webapp.lifecycle.tasks, webapp.lifecycle.stream.websocket"


_PROBES = "import inference.worker.probe_app"


@pytest.mark.parametrize(
    ("blocked", "code"), [("torch", _SITE), ("torch", _WORKER), ("django", _WORKER), ("torch", _PROBES)]
)
def test_each_side_starts_without_the_others_library(blocked: str, code: str) -> None:
    subprocess.run([sys.executable, "-c", _BLOCKED + code, blocked], cwd=ROOT, check=True)


@pytest.mark.parametrize("blocked", ["httpx", "onnx", "safetensors", "gguf"])
def test_a_worker_starts_without_the_libraries_of_remote_back_ends_and_of_conversion(blocked: str) -> None:
    """Every start would pay for their imports."""
    subprocess.run([sys.executable, "-c", _BLOCKED + _WORKER, blocked], cwd=ROOT, check=True)
