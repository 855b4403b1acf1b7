"""The pages' links lead somewhere: each file and heading that they name is there, and each package has its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").glob("*.md")])
LIVING = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"])
"""Pages on the code as it stands; decisions and changelog name files that have gone since."""

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r'\bsrc(?:set)?="([^"\s]+)')
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
OWN_PATH = re.compile(r"(?:webapp|inference|frontend|tests|scripts|docs|docker|benchmarks)/[\w./-]*")


def text_of(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> Iterator[str]:
    text = CODE.sub("", text_of(page))
    for target in [*LINK.findall(text), *SOURCE.findall(text)]:
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """The headings' names in an address, as GitHub makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(text_of(page)):
        name = re.sub(r"[^\w\- ]", "", LINK.sub("", heading).lower()).replace(" ", "-")
        again = (f"{name}-{number}" for number in count(1))
        found.add(next(each for each in chain((name,), again) if each not in found))
    return found


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        address, _, anchor = link.partition("#")
        target = (page.parent / address).resolve() if address else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", LIVING, ids=name_of)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    named = {name for name in CODE.findall(text_of(page)) if OWN_PATH.fullmatch(name)}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def packages() -> Iterator[str]:
    for side in ("webapp", "inference"):
        yield from (f"{side}.{path.parent.name}" for path in (ROOT / side).glob("*/__init__.py"))
    yield from (path.name for path in (ROOT / "frontend" / "src").iterdir() if path.is_dir())


def test_every_package_has_its_line_in_the_architecture() -> None:
    lines = re.findall(r"^- `([\w.]+)`", text_of(ROOT / "docs" / "architecture.md"), re.MULTILINE)
    assert sorted(lines) == sorted(packages())
