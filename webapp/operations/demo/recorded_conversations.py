"""The recorded conversations of the demonstration as a file. Knows nothing of the database.

`python -m scripts.record_demo` writes the file, a zip: `conversations.json`, and each request's trace as
`<id>.sgtrace`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec

from inference.protocol.events import Frame
from webapp.traces.file.archive import decode

FILE = Path(__file__).with_name("recorded_requests.zip")
_CONVERSATIONS = "conversations.json"

Kind = Literal["usual", "uncached", "blocked", "waited", "lost"]
"""The conversation's place in the demonstration. uncached: no block of its long prompts is in the cache. waited: no
worker was free for seconds. lost: its worker was killed."""


class RecordedMessage(msgspec.Struct, frozen=True):
    """A question, or the answer of a request."""

    id: str
    parent_id: str | None
    role: str
    text: str
    """The question; empty for an answer."""
    request_id: str | None


class RecordedConversation(msgspec.Struct, frozen=True):
    """A conversation as the product kept it."""

    kind: Kind
    model: str
    title: str
    system_prompt: str
    params: dict[str, Any]
    messages: tuple[RecordedMessage, ...]
    """In the order of their creation."""

    @property
    def request_ids(self) -> list[str]:
        return [message.request_id for message in self.messages if message.request_id is not None]

    @property
    def num_requests(self) -> int:
        return len(self.request_ids)


class RecordedTrace(msgspec.Struct, frozen=True):
    """The saved trace of one request."""

    title: str
    frames: list[Frame]


class Recording(msgspec.Struct, frozen=True):
    """All recorded conversations."""

    conversations: tuple[RecordedConversation, ...]
    traces: dict[str, RecordedTrace]
    """By the request's id."""

    def of(self, kind: Kind, model: str) -> list[RecordedConversation]:
        return [each for each in self.conversations if (each.kind, each.model) == (kind, model)]


def read() -> Recording:
    with ZipFile(FILE) as file:
        conversations = msgspec.json.decode(file.read(_CONVERSATIONS), type=tuple[RecordedConversation, ...])
        ids = [request_id for each in conversations for request_id in each.request_ids]
        return Recording(conversations, {each: _trace(file.read(_name(each))) for each in ids})


def _trace(data: bytes) -> RecordedTrace:
    archive = decode(data)
    return RecordedTrace(archive.summary["title"], archive.frames)


def write(conversations: Sequence[RecordedConversation], traces: Mapping[str, bytes]) -> None:
    """traces: the saved trace of each request, by its id."""
    with ZipFile(FILE, "w", ZIP_DEFLATED) as file:
        file.writestr(_CONVERSATIONS, msgspec.json.encode(conversations))
        for request_id, trace in traces.items():
            file.writestr(_name(request_id), trace)


def _name(request_id: str) -> str:
    return f"{request_id}.sgtrace"
