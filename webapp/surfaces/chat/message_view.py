"""A message as the API and exported files show it. Knows nothing of HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from webapp.ground.gateway.structs import Result
from webapp.requests import summary
from webapp.requests.models import Request
from webapp.requests.summary import Figures, ForkOrigin, RequestError
from webapp.surfaces.chat import models


class ToolCall(Result):
    """A call of one of the server's tools, with its result."""

    name: str
    arguments: str
    """JSON, as the model wrote it."""
    result: str
    is_error: bool


class Thoughts(Result):
    """What the model thought before its answer. Its tokens are a part of the output."""

    text: str
    num_tokens: int
    duration_us: int
    cause: Literal["model", "budget", "answer_now", "cut"]
    """The way it ended: by the model's own tag, by its budget, by the user, or with the generation."""


class CarriedFile(Result):
    """A file that a question carries."""

    id: str
    name: str
    num_tokens: int | None
    """Tokens of the whole file, as the model of its time counted them; null: not known."""
    picture: str | None
    """SHA-256 of a picture, by which GET /api/pictures gives its bytes; null: the file is none."""


class Message(ForkOrigin):
    """A user's text, or an answer to it. The messages of a conversation form a tree whose siblings are branches."""

    id: str
    parent_id: str | None
    role: Literal["user", "assistant"]
    text: str
    """An open answer has the text released so far, where a whole conversation is shown."""
    thinking: Thoughts | None
    """Null: there was none, or the answer is open."""
    calls: list[ToolCall]
    """The calls of the server's tools that a settled answer made, in order."""
    files: list[CarriedFile]
    """The files that a question carries. A deleted one is missing."""
    key: str | None
    """The Idempotency-Key that a question was posted under; null: none, or not known any more."""
    created_at: datetime
    request_id: str | None
    is_imported: bool
    """The message was said elsewhere and has no request."""
    model: str | None
    """The model that answered; null: a question, or not known."""
    status: Literal["streaming", "done", "stopped", "withheld", "blocked", "failed"] | None
    error: RequestError | None
    figures: Figures | None
    """Null until the request is settled."""


def shown(message: models.Message, text: str | None = None) -> Message:
    """Return the message as it is shown. text: that of an open answer, as far as it is known."""
    role: Any = message.role
    request = message.request if message.role == message.Role.ASSISTANT else None
    return Message(
        id=message.id,
        parent_id=message.parent_id,
        role=role,
        text=message.text if text is None else text,
        thinking=msgspec.convert(request.thinking, Thoughts | None) if request else None,
        calls=_calls(request) if request else [],
        files=_files(message) if role == "user" else [],
        key=getattr(message, "key", None),  # annotated by Conversation.tree()
        created_at=message.created_at,
        request_id=request.id if request else None,
        is_imported=message.is_imported,
        model=request.model if request else message.imported_model or None,
        status=_status(request) if request else None,
        error=summary.error(request) if request else None,
        figures=summary.figures(request) if request and request.is_settled else None,
        **summary.fork_fields(request),
    )


def _files(message: models.Message) -> list[CarriedFile]:
    found = (each.attachment for each in message.carried.all())
    return [CarriedFile(each.pk, each.name, each.num_tokens, each.sha256 if each.image else None) for each in found]


def _calls(request: Request) -> list[ToolCall]:
    return [msgspec.convert(call, ToolCall) for each in request.rounds or () for call in each["calls"]]


def _status(request: Request) -> Any:
    """The request's status; "streaming" while it is open."""
    is_open = request.status in (Request.Status.QUEUED, Request.Status.RUNNING)
    return "streaming" if is_open else request.status
