"""Reads values of unknown shape: a text, a number, an object, or nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LARGEST = 2**53 - 1
_EMPTY: Mapping[str, Any] = {}


def text_at(value: Mapping[str, Any], name: str) -> str | None:
    found = value.get(name)
    return found if isinstance(found, str) else None


def number_at(value: Mapping[str, Any], name: str) -> int | None:
    """A count; None: there is none, or it is none."""
    found = value.get(name)
    is_count = isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= _LARGEST
    return found if is_count else None


def object_at(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object of this name; empty: there is none."""
    found = value.get(name)
    return found if isinstance(found, dict) else _EMPTY


def objects_at(value: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    found = value.get(name)
    return (each for each in found if isinstance(each, dict)) if isinstance(found, list) else iter(())
