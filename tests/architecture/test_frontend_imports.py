"""The front end's arrows: which folder of frontend/src may import which. An arrow that is not listed is forbidden.

Reads import lines by regular expression and resolves relative paths. Knows nothing of TypeScript's types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

SRC = Path(__file__).parents[2] / "frontend" / "src"

PAGE = {"protocol", "trace", "transport", "layout", "theme", "drawing", "ui", "state", "answer", "sharing"}
"""A room of the product may import all of these, and no other room but those that its line names."""

FOLDERS: dict[str, set[str]] = {
    "protocol": set(),
    "trace": {"protocol"},
    "markdown": set(),
    "tokenizer": {"trace"},
    "transport": {"protocol"},
    "layout": {"protocol", "trace"},
    "theme": {"trace"},
    "drawing": {"layout", "theme", "trace"},
    "ui": {"theme"},
    "state": {"protocol", "trace", "transport", "layout"},
    "example": {"protocol", "state"},
    "answer": {"protocol", "trace", "markdown", "theme", "ui", "state"},
    "sharing": {"protocol", "trace", "transport", "layout", "theme", "drawing", "ui", "state", "answer"},
    "chat": PAGE | {"tokenizer"},
    "inspector": PAGE,
    "learn": PAGE | {"example", "tokenizer"},
    "library": PAGE,
    "runs": PAGE,
    "conversation": PAGE,
    "charts": PAGE,
    "account": PAGE | {"charts"},
    "desk": PAGE | {"charts", "account"},
    "programs": PAGE | {"charts", "account"},
    "app": PAGE
    | {
        "account",
        "charts",
        "chat",
        "conversation",
        "desk",
        "example",
        "inspector",
        "learn",
        "library",
        "programs",
        "runs",
    },
    ".": {"app", "inspector", "protocol", "theme"},
}
"""Each folder stands below all that it may import, so the table has no ring. `.`: the two entry points of the build."""

ROOMS_OF_TRACE: dict[str, set[str]] = {
    "": set(),
    "saved": set(),
    "timing": {""},
    "context": {""},
    "code": {""},
    "words": {"", "timing", "context"},
    "sampling": {"", "timing", "context", "words"},
    "journey": {"", "words", "sampling"},
    "compare": {"", "timing", "context", "words", "sampling"},
    "findings": {"", "timing", "context", "words", "sampling"},
}
"""The rooms within `trace`, in the same way. `""`: the core at its top, which imports no room."""

PURE = {"protocol", "trace", "layout"}
"""They import no package: neither Svelte nor anything of a browser."""

DEBTS: frozenset[tuple[str, str]] = frozenset()
"""Imports that the tables forbid and that still stand: (file, file it imports), below frontend/src."""

_IMPORT = re.compile(r"""(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(["'])(?P<path>[@\w.][@\w./:-]*)\1""")
_ENDINGS = ("", ".ts", ".svelte.ts", ".svelte")


class Import(NamedTuple):
    source: str
    """The file below frontend/src that imports."""
    target: str
    """The file that it imports: below frontend/src, or the name of a package."""
    is_package: bool


def sources() -> list[Path]:
    """Test files may import anything: they are exempt."""
    files = (path for path in SRC.rglob("*") if path.suffix in (".ts", ".svelte"))
    return sorted(path for path in files if not path.name.endswith(".test.ts"))


def resolve(folder: Path, path: str) -> str:
    """The file below frontend/src that a relative import names. Raises AssertionError where there is none."""
    base = (folder / path).resolve()
    for ending in _ENDINGS:
        file = base.with_name(base.name + ending)
        if file.is_file():
            return file.relative_to(SRC).as_posix()
    raise AssertionError(f"{folder}: nothing at {path}")


def imports() -> Iterator[Import]:
    for file in sources():
        source = file.relative_to(SRC).as_posix()
        for found in _IMPORT.finditer(file.read_text("utf-8")):
            path = found["path"]
            if path.startswith("."):
                yield Import(source, resolve(file.parent, path), is_package=False)
            else:
                yield Import(source, path, is_package=True)


IMPORTS = tuple(imports())


def folder_of(file: str) -> str:
    head, _, rest = file.partition("/")
    return head if rest else "."


def room_of(file: str) -> str:
    """The room of a file of `trace`; empty for its core."""
    parent = PurePosixPath(file).parent
    return "" if parent.name == "trace" else parent.name


def arrows() -> list[Import]:
    return [each for each in IMPORTS if not each.is_package]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    forbidden = {
        (source, target)
        for source, target, _ in arrows()
        if folder_of(source) == folder and folder_of(target) not in FOLDERS[folder] | {folder}
    }
    assert forbidden <= DEBTS


@pytest.mark.parametrize("room", ROOMS_OF_TRACE)
def test_a_room_of_the_trace_imports_only_what_it_may(room: str) -> None:
    within = [each for each in arrows() if folder_of(each.source) == folder_of(each.target) == "trace"]
    forbidden = {
        (source, target)
        for source, target, _ in within
        if room_of(source) == room and room_of(target) not in ROOMS_OF_TRACE[room] | {room}
    }
    assert forbidden <= DEBTS


@pytest.mark.parametrize("table", [FOLDERS, ROOMS_OF_TRACE], ids=["folders", "rooms of trace"])
def test_a_table_has_no_ring(table: dict[str, set[str]]) -> None:
    above: set[str] = set()
    for folder, allowed in table.items():
        assert allowed <= above, folder
        above.add(folder)


def test_the_rooms_of_one_folder_form_no_ring() -> None:
    """A folder and its rooms may import each other: a page shows its rooms, and they use its types."""
    targets: dict[str, set[str]] = {}
    for source, target, _ in arrows():
        here, there = PurePosixPath(source).parent, PurePosixPath(target).parent
        if here != there and here.parent == there.parent and here.parent.name:
            targets.setdefault(str(here), set()).add(str(there))
    while leaves := {room for rooms in targets.values() for room in rooms} - targets.keys():
        targets = {room: kept for room, rooms in targets.items() if (kept := rooms - leaves)}
    assert targets == {}


def test_every_folder_is_in_the_table() -> None:
    assert {folder_of(file.relative_to(SRC).as_posix()) for file in sources()} == FOLDERS.keys()
    rooms = {room_of(path.relative_to(SRC).as_posix()) for path in (SRC / "trace").rglob("*.ts")}
    assert rooms == ROOMS_OF_TRACE.keys()


def test_the_pure_folders_import_no_package() -> None:
    assert [each for each in IMPORTS if each.is_package and folder_of(each.source) in PURE] == []


def test_no_debt_is_paid_already() -> None:
    assert {(source, target) for source, target, _ in IMPORTS} >= DEBTS


def test_every_kind_of_import_is_read() -> None:
    lines = """
import "./a.css";
import type { B } from "../b";
export { c } from './c';
const load = () => import("./d.svelte");
let e: typeof import("./e").default;
"""
    assert [found["path"] for found in _IMPORT.finditer(lines)] == ["./a.css", "../b", "./c", "./d.svelte", "./e"]
