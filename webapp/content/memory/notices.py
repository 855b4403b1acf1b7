"""The notice below a message that asks to remember or to forget: what was done, or what is to be confirmed.

Nothing is remembered without a notice, and nothing is forgotten without a choice. Knows nothing of HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from webapp.content.memory.commands import Remember, command_of
from webapp.content.memory.memories import CannotRemember, Found, checked_text, remember, search, settings_of
from webapp.content.memory.models import Memory, MemorySettings
from webapp.content.memory.recall import THRESHOLD

Kind = Literal["saved", "ask", "forget", "refused"]
_MOST_MATCHES = 5


@dataclass(frozen=True)
class Notice:
    """saved: it is remembered; ask: the user decides; forget: the user chooses among matches; refused: see problem."""

    kind: Kind
    text: str
    memory: Memory | None = None
    matches: tuple[Found, ...] = ()
    problem: str = ""


def notice_of(user_id: int, message: str, message_id: str) -> Notice | None:
    """Do what a new message asks of the memory. None: it asks nothing, or memory is off. Raises SafetyModelError."""
    command = command_of(message)
    mode = settings_of(user_id).mode if command is not None else MemorySettings.Mode.OFF
    if command is None or mode == MemorySettings.Mode.OFF:
        return None
    if not isinstance(command, Remember):
        near = search(user_id, command.text, _MOST_MATCHES)
        return Notice("forget", command.text, matches=tuple(each for each in near if each.similarity >= THRESHOLD))
    try:
        if mode == MemorySettings.Mode.ASK:
            return Notice("ask", checked_text(command.text))
        return Notice("saved", command.text, remember(user_id, command.text, message_id))
    except CannotRemember as error:
        return Notice("refused", "", problem=str(error))
