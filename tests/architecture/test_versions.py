"""The product asks Python for nothing that its patch releases answer otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.test_imports import ROOT

OURS = {
    "urlsplit": "inference.protocol.url",
    "urlparse": "inference.protocol.url",
    "is_global": "webapp.addresses",
    "is_private": "webapp.addresses",
    "is_reserved": "webapp.addresses",
    "schema_components": "inference.protocol.json_schema",
}
"""Names of libraries whose answers differ by release, and the module that answers instead."""
MAY = {"inference/protocol/json_schema.py": {"schema_components"}}


def names_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name):
                yield name


@pytest.mark.parametrize("package", ["inference", "webapp", "scripts"])
def test_no_module_asks_for_what_differs_by_release(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        found = set(names_in(path)) & OURS.keys() - MAY.get(str(path.relative_to(ROOT)), set())
        assert not found, f"{path}: ask {', '.join(OURS[name] for name in found)} instead"
