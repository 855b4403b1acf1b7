"""Bounds on a constraint that can be seen without compiling it: the size of a regular expression, written out.

Only what counts for the size is read: groups, classes, escapes and repetitions. The library judges the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAX_REPETITIONS = 100_000
"""Most characters of a regular expression once its repetitions are written out.

A fixed text of that length takes the library 0.1 s for one token. A model's longest answer has about as many.
"""
_TOKEN = re.compile(
    r"""\\[pPx]\{[^}]*+(?:\}|\Z) | \\. | \[\^?\]?(?:\\.|\[:\w++:\]|[^\]\\])*+(?:\]|\Z)  # one character
    | \{(?P<least>\d++),?(?P<most>\d*+)\}
    | \((?:\?(?:P?<\w+>|[\w-]*:))?
    | .""",
    re.DOTALL | re.VERBOSE,
)
_MAX_DIGITS = 18
_MOST = 10**_MAX_DIGITS
"""Sizes above it count as this one."""
_MAX_DEPTH = 64
"""Levels of a schema that are read. The library refuses deeper ones."""


def problem_of(regex: str) -> str | None:
    """Return the reason why the expression is too large; None if it is not."""
    size = size_of(regex)
    if size <= MAX_REPETITIONS:
        return None
    return f"its repetitions multiply to {_words(size)}; at most {MAX_REPETITIONS:,}"


def size_of(regex: str) -> int:
    """Return the number of characters that the expression has once each repetition is written out."""
    sizes, last = [0], 0  # per open group its size before the last item, and the size of that item
    for token in _TOKEN.finditer(regex):
        text = token.group()
        if text.startswith("("):
            sizes[-1] += last
            sizes.append(0)
            last = 0
        elif text == ")" and len(sizes) > 1:
            last += sizes.pop()
        elif token["least"]:
            times = max(int(number[:_MAX_DIGITS]) for number in (token["least"], token["most"] or "0", "1"))
            last = min(last * times, _MOST)
        else:
            sizes[-1] += last
            last = 1
    return sum(sizes) + last


def patterns_of(schema: str) -> Iterator[str]:
    """Yield the regular expressions in a JSON Schema. Raises ValueError, RecursionError."""
    return _patterns(json.loads(schema), _MAX_DEPTH)


def _patterns(node: Any, depth: int) -> Iterator[str]:
    if depth and isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]
    if depth and isinstance(node, dict | list):
        for inner in node.values() if isinstance(node, dict) else node:
            yield from _patterns(inner, depth - 1)


def _words(number: int) -> str:
    """Return a number as people read it: `83 million`."""
    for size, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if number >= size:
            return f"{number // size:,} {name}"
    return f"{number:,}"
