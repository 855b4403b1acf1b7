"""Events of attached files. Knows nothing of how a file is read and its passages are compared."""

from __future__ import annotations

from typing import ClassVar

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown


class ChosenPassage(Value, frozen=True, kw_only=True):
    """A passage that the prompt contains."""

    number: int
    """Its place in the file, from 1."""
    num_tokens: int
    """Tokens of its text. Passages overlap, so the sum may exceed the file's."""
    similarity: float
    """Cosine similarity of its embedding and the message's, -1 to 1."""
    is_pinned: bool = False
    """The user chose it; its similarity did not."""

    unredacted: ClassVar = "number num_tokens similarity is_pinned"


class LeftPassage(Value, frozen=True, kw_only=True):
    """A passage that the prompt leaves out."""

    number: int
    similarity: float

    unredacted: ClassVar = "number similarity"


class AttachedFile(Value, frozen=True, kw_only=True):
    """A file of the conversation, and its part in the prompt."""

    id: str
    name: str
    media_type: str
    num_tokens: int
    """Tokens that the prompt has of it, its frame included."""
    num_passages: int
    """Passages of the whole file."""
    is_whole: bool
    """The prompt has all of it."""
    passages: tuple[ChosenPassage, ...] = ()
    """In the file's order. Empty where the prompt has all of it."""
    left: tuple[LeftPassage, ...] = ()
    """The most similar of the other passages, at most 50, the most similar first."""

    unredacted: ClassVar = "num_tokens num_passages is_whole passages left"


class AttachmentSelected(Event, frozen=True, kw_only=True, tag="attachment.selected"):
    """The parts of the attached files that the prompt contains, chosen by their similarity to the message."""

    model: str
    """The embedding model; empty: no passage was compared."""
    budget: int
    """Tokens that all files may have in the prompt: a share of the window. A pinned passage may exceed it."""
    num_tokens: int
    """Tokens of all files in the prompt."""
    files: tuple[AttachedFile, ...]
    duration_us: int
    """Time of the choice, which was made before the request was accepted."""

    unredacted: ClassVar = "model budget num_tokens files duration_us"
    shown: ClassVar = Shown(
        lane="context",
        is_mark=True,
        label="{num_tokens|token} of attached files",
        meaning="The prompt contains short files whole, and the most similar passages of long ones.",
    )
