"""A message on its way into a prompt, typed by its maker. Knows nothing of rows and of how it is packed."""

from __future__ import annotations

from dataclasses import dataclass

from inference.protocol.events import Image, SegmentKind
from inference.protocol.request import KeptTTL

ORDER: tuple[SegmentKind, ...] = ("system", "tools", "memory", "summary", "attachment", "history", "user")
"""A chat's prompt has its parts in this order: those that change least come first, so that the cache finds the most.

A tool's result stands in the history, behind its call."""
PINNED: frozenset[SegmentKind] = frozenset({"system", "tools", "memory", "summary", "attachment"})
"""Kinds that no prompt leaves out to make room."""


@dataclass(frozen=True)
class SourceMessage:
    """A message, or a part of one, and where it came from, e.g. `message:msg_…`."""

    role: str
    content: str
    source: str
    kind: SegmentKind
    """Its maker's word for it: no place in the prompt is taken for a kind."""
    is_continued: bool = False
    """True: it is the next part of the message before."""
    breakpoint: KeptTTL | None = None
    """The client wants the prompt up to its end kept in the cache for this time."""
    image: Image | None = None
    """The picture that it is; None: it is a text. A picture's content is empty."""
