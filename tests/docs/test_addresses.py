"""The tables of docs/api.md have each address of the API with its methods, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from django.test import RequestFactory
from django.urls import URLPattern

from webapp.urls import urlpatterns

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<what>`[A-Z]+[^|]*`) \|", re.MULTILINE)
CALL = re.compile(r"`((?:GET|POST|PUT|PATCH|DELETE)(?:`, `(?:GET|POST|PUT|PATCH|DELETE))*) (/api/[^`? ]+)[^`]*`")
PARAMETER = re.compile(r"<[^>]+>")


def described() -> Iterator[tuple[str, str]]:
    """Method and address of each call in the tables, with every parameter as `<>`."""
    for row in ROW.finditer((ROOT / "docs" / "api.md").read_text("utf-8")):
        for methods, address in CALL.findall(row["what"]):
            for method in methods.split("`, `"):
                yield method, PARAMETER.sub("<>", address)


def served() -> Iterator[tuple[str, str]]:
    """The same of the site."""
    for pattern in urlpatterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith("api/"):
            for method in methods_of(pattern):
                yield method, PARAMETER.sub("<>", f"/{pattern.pattern}")


def methods_of(pattern: URLPattern) -> list[str]:
    """The methods that the view names where it refuses another."""
    refusal = pattern.callback(RequestFactory().generic("TRACE", "/"))
    assert refusal.status_code == 405
    return str(refusal["Allow"]).split(", ")


def test_every_address_stands_in_the_tables_and_no_other() -> None:
    assert set(described()) == set(served())


def test_no_call_stands_twice() -> None:
    calls = list(described())
    assert len(calls) == len(set(calls))
