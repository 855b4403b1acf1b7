"""Events of memory: what was found for a message. Knows nothing of rows and vectors."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown


class RecalledMemory(Value, frozen=True, kw_only=True):
    """A memory that was chosen for the prompt."""

    id: str
    text: str
    """The text as it was then; the policy's words where the safety policy blocked it."""
    similarity: float
    """Cosine similarity to the new message, -1 to 1."""
    is_kept: bool = False
    """True: the prompt before had it, so it stays whatever its similarity."""
    is_blocked: bool = False
    """True: the safety policy blocked it, so the prompt lacks it."""

    unredacted: ClassVar = "similarity is_kept is_blocked"


class MemoryRecalled(Event, frozen=True, kw_only=True, tag="memory.recalled"):
    """The user's memories were searched for those that the new message is about."""

    items: tuple[RecalledMemory, ...]
    """The chosen memories, in the prompt's order."""
    num_considered: int
    """Enabled memories of the user, each of which was compared with the message."""
    threshold: float
    """Least similarity of a new choice."""
    duration_us: int
    """Time of the search, with the message's embedding. The site searched before it accepted the request."""

    unredacted: ClassVar = "items num_considered threshold duration_us"
    shown: ClassVar = Shown(
        lane="context",
        scene="context",
        is_mark=True,
        label="searched {num_considered|memory|memories}",
        meaning="The user's saved memories that the message is about.",
        replay_ms=800,
    )
