"""Reads "remember that …" and "forget …" at the start of a message, by plain rules. Pure; English alone.

Only a user's own words are read, never an answer, a tool's result or a memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_REMEMBER = re.compile(r"\s*(?:please[,\s]+)?remember(?:\s+that\b\s*:?|\s*:)\s*(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_FORGET = re.compile(
    r"\s*(?:please[,\s]+)?forget\b(?:\s+(?:that|about)\b)?\s*:?\s+(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Remember:
    """The user asks for this text to be remembered."""

    text: str


@dataclass(frozen=True)
class Forget:
    """The user asks for memories like this text to be deleted."""

    text: str


Command = Remember | Forget


def command_of(message: str) -> Command | None:
    """The command with which the message begins; None: it begins with none.

    The command's text ends at the first blank line: what follows is another matter.
    """
    for pattern, kind in ((_REMEMBER, Remember), (_FORGET, Forget)):
        found = pattern.match(message)
        if found and (text := _BLANK_LINE.split(found["rest"], maxsplit=1)[0].strip()):
            return kind(text)
    return None
