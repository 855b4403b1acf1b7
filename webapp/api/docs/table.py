"""The tables of docs/api.md: every operation with its inputs, its answer and its refusals."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings

from webapp.api.docs.openapi import Route, options_of, routes
from webapp.ground.gateway.idempotency import HEADER

PAGE = Path(settings.BASE_DIR) / "docs" / "api.md"
BEGIN, END = "<!-- operations: written by `python -m webapp.api.docs.generate` -->", "<!-- /operations -->"


def build_page() -> str:
    """The page as it should be. Raises ValueError when it lacks the marks of the tables."""
    before, begin, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{_tables()}\n{END}{after}"


def _tables() -> str:
    found = sorted(routes(), key=lambda route: route.section)  # stable: the order of the addresses stays
    return "\n\n".join(_table(section, list(group)) for section, group in groupby(found, lambda each: each.section))


def _table(section: str, found: list[Route]) -> str:
    head = f"### {section.capitalize()}\n\n| call | takes | answers | |\n|---|---|---|---|\n"
    return head + "\n".join(_row(route) for route in found)


def _row(route: Route) -> str:
    takes = ", ".join([*(kind.__name__ for kind in route.operation.inputs.values()), *_file(route), *_key(route)])
    statuses = ", ".join(map(str, route.operation.statuses))
    description = route.description.replace("|", "\\|")
    return f"| `{route.method} {route.path}` | {takes} | {statuses} {_answer(route)} | {description} |"


def _file(route: Route) -> list[str]:
    return ["a file"] if route.operation.takes_file else []


def _key(route: Route) -> list[str]:
    return [f"`{HEADER}`"] if route.operation.takes_key else []


def _answer(route: Route) -> str:
    answer: Any = route.operation.answer
    if answer is type(None):
        return ""
    return " or ".join(option.__name__ for option in options_of(answer)) if route.is_json else "a file"
