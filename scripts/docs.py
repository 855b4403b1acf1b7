"""Writes the table of settings into docs/operations.md: `python -m scripts.docs [--check]`.

The names, defaults and meanings are the docstrings of the settings' own fields. With --check nothing is written, and
the exit status is 1 when the table is stale. Knows nothing of the values that are set.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from inference.protocol.docstrings import field_docstrings
from inference.worker import settings as worker
from webapp import environment as site

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operations.md"
BEGIN, END = "<!-- settings: written by `python -m scripts.docs` -->", "<!-- /settings -->"
CLASSES = ((site, "Environment"), (site, "EmailServer"), (site, "OtlpEndpoint"), (worker, "WorkerSettings"))
_DESCRIBED = re.compile(r"`([A-Z_]+)`, default (.+?)\. (.+)")
_VARIABLE = re.compile(r"HOST|PORT|SIGHTGLASS_[A-Z_]+")


@dataclass(frozen=True)
class Setting:
    """One environment variable."""

    name: str
    default: str
    meaning: str
    field: str
    """The field that holds its value."""
    readers: tuple[str, ...]
    """The sides that read it: site, worker."""


def settings() -> list[Setting]:
    """Every described setting, in the order of the table."""
    names = {"site": variables(site), "worker": variables(worker)}
    found = []
    for module, owner in CLASSES:
        for (class_name, field), text in field_docstrings(module).items():
            described = _DESCRIBED.fullmatch(" ".join(text.split()))
            if class_name == owner and described:
                name, default, meaning = (str(group) for group in described.groups())
                readers = tuple(side for side, read in names.items() if name in read)
                found.append(Setting(name, default, meaning, field, readers))
    return found


def variables(module: ModuleType) -> set[str]:
    """The environment variables that a module's code names."""
    constants = (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Constant))
    texts = (node.value for node in constants if isinstance(node.value, str))
    return {text for text in texts if _VARIABLE.fullmatch(text)}


def table() -> str:
    """The settings as a Markdown table."""
    rows = ["| variable | default | read by | meaning |", "|---|---|---|---|"]
    rows += [f"| `{each.name}` | {each.default} | {', '.join(each.readers)} | {each.meaning} |" for each in settings()]
    return "\n".join(rows)


def page() -> str:
    """The page as it should be. Raises ValueError when it lacks the marks of the table."""
    before, begin, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> int:
    fresh = page()
    is_stale = PAGE.read_text("utf-8") != fresh
    if is_stale and "--check" in sys.argv[1:]:
        print(f"{PAGE.relative_to(ROOT)} is stale: run python -m scripts.docs")
        return 1
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
