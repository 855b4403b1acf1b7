"""JSON that a person pasted: its value, the place of a fault, and names that stand twice. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

_MOST_REPEATED = 8


class Malformed(Exception):
    """The text is not valid JSON. The message names the place."""


@dataclass(frozen=True)
class Parsed:
    """A JSON value."""

    value: Any
    repeated: tuple[str, ...]
    """Names that one object has twice. The last value counts, as at the live addresses."""


def parse(text: str) -> Parsed:
    """Raises Malformed."""
    repeated: dict[str, None] = {}

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.update({name: None for name in found if names.count(name) > 1} if len(names) < 1000 else {})
        return found

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Malformed(f"line {error.lineno}, character {error.colno}: {_in_words(error)}") from None
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as error:
        raise Malformed(str(error)) from None
    return Parsed(value, tuple(repeated)[:_MOST_REPEATED])


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _in_words(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc.rstrip()):
        return "the text ends too early"
    return error.msg[:1].lower() + error.msg[1:]
