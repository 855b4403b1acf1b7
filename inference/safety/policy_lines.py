"""Names the first mistake of a policy file with its line and the nearest valid word. Knows nothing of thresholds."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inference.protocol.safety_policy import ACTIONS, CATEGORIES, LAYERS, Policy, Release

_HEADER = re.compile(r"\s*\[([^\[\]]{1,200})\]")
_KEY = re.compile(r"""\s*("[^"]{0,200}"|'[^']{0,200}'|[\w-]{1,100})\s*=""")


@dataclass(frozen=True)
class Mistake:
    """A word or a value of the file that is not possible there."""

    place: tuple[str, ...]
    """The keys that lead to it."""
    words: str


def first_mistake(raw: Mapping[str, Any]) -> Mistake | None:
    """Return the first mistake in the file's words; None: its words are all known."""
    return next(_mistakes(raw), None)


def line_of(text: str, place: Sequence[str]) -> int | None:
    """Return the line on which the keys' value stands, or else the nearest table around it; None: neither is there."""
    lines = dict(_lines(text))
    found = (lines.get(tuple(place[:num])) for num in range(len(place), 0, -1))
    return next((line for line in found if line), None)


def _mistakes(raw: Mapping[str, Any]) -> Iterator[Mistake]:
    yield from _unknown(raw, (), Policy.__struct_fields__, "key")
    yield from _unknown(_table(raw, "release"), ("release",), Release.__struct_fields__, "key of [release]")
    for layer in LAYERS:
        yield from _in_layer(_table(raw, layer), (layer,))
    yield from _unknown(_table(raw, "replacement"), ("replacement",), CATEGORIES, "category")
    for name, group in _table(raw, "groups").items():
        place = ("groups", name)
        if not isinstance(group, dict):
            yield Mistake(place, f'"{name}" must be a table of layers')
            continue
        yield from _unknown(group, place, LAYERS, "layer")
        for layer in LAYERS:
            yield from _in_layer(_table(group, layer), (*place, layer))
    yield from _help_first(raw)


def _in_layer(layer: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[Mistake]:
    yield from _unknown(layer, place, ACTIONS, "action")
    for action in ACTIONS:
        limits = _table(layer, action)
        yield from _unknown(limits, (*place, action), CATEGORIES, "category")
        for category, value in limits.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield Mistake((*place, action, category), f'"{category}" must be a number from 0 to 1, not {value!r}')


def _help_first(raw: Mapping[str, Any]) -> Iterator[Mistake]:
    given = raw.get("help_first", [])
    for each in given if isinstance(given, list) else []:
        if each not in CATEGORIES:
            yield Mistake(("help_first",), _words(str(each), CATEGORIES, "category"))


def _unknown(table: Mapping[str, Any], place: tuple[str, ...], known: Sequence[str], kind: str) -> Iterator[Mistake]:
    for word in table:
        if word not in known:
            yield Mistake((*place, word), _words(word, known, kind))


def _words(word: str, known: Sequence[str], kind: str) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f'"{word}" is no {kind}; ' + (f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}")


def _table(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = raw.get(key)
    return found if isinstance(found, dict) else {}


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each table's and each key's place with its line."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _parts(f"[{header[1]}]")
            yield table, number
        elif key := _KEY.match(line):
            yield (*table, *_parts(f"{key[1]} = 0")), number


def _parts(toml: str) -> tuple[str, ...]:
    try:
        found: Any = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return ()
    parts = []
    while isinstance(found, dict) and found:
        ((key, found),) = found.items()
        parts.append(key)
    return tuple(parts)
