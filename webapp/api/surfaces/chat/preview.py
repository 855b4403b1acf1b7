"""Operations that show a prompt before it is sent. Knows nothing of how it is packed."""

from __future__ import annotations

import msgspec
from asgiref.sync import sync_to_async
from django.http import HttpRequest

from inference.protocol.request import SamplingParams
from webapp.api.surfaces.chat.attached_files import wanted
from webapp.api.surfaces.chat.conversations import find_conversation, new_conversation
from webapp.api.surfaces.chat.schema import NewConversation, Pin
from webapp.ground.gateway.body import checked_text
from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.structs import Body
from webapp.requests.params import checked_params
from webapp.surfaces.chat import previewing
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.chat.previewing import Busy, Preview


class Draft(Body):
    """A draft of the next message."""

    text: str
    parent_id: str | None = None
    params: SamplingParams | None = None
    model: str | None = None
    """Model of a new conversation; a saved one has its own. None: the default."""
    system_prompt: str | None = None
    """System prompt of a new conversation; a saved one uses its own. None: the model entry's."""
    tools: tuple[str, ...] | None = None
    """Tools of a new conversation; a saved one has its own. None: those of the user's new conversations."""
    memory: bool | None = None
    """Whether a new conversation uses memories; a saved one has its own. None: as the user's new conversations."""
    attachments: tuple[str, ...] = ()
    """Ids of the files that the message will carry."""
    pins: tuple[Pin, ...] = ()
    """Parts of files that will go in whatever their similarity."""


async def preview_first(request: HttpRequest, body: Draft) -> Preview:
    """Show the request that a message would make in a conversation that has not begun.

    404 `unknown_model`; 409 `prompt_too_long`, `messages_refused`; 429 `busy` while the user's last preview is still
    being made.
    """
    checked_text(body.text)
    found = await sync_to_async(_new)(request, body)
    return await _preview(found, body)


async def preview_next(request: HttpRequest, conversation_id: str, body: Draft) -> Preview:
    """Show the request that a message would make here.

    409 `prompt_too_long`, `messages_refused`, `answer_open`, `model_unavailable`; 429 `busy`.
    """
    checked_text(body.text)
    found = await sync_to_async(find_conversation)(request, conversation_id)
    return await _preview(found, body)


async def _preview(found: Conversation, body: Draft) -> Preview:
    draft = await sync_to_async(_draft)(found, body)
    try:
        return await previewing.preview(draft)
    except Busy:
        raise ApiError(429, "busy", "The last preview is still running. Try again.", retry_after_s=1) from None


def _draft(found: Conversation, body: Draft) -> previewing.Draft:
    """Raises ApiError."""
    params = checked_params(body.params, found.model) if body.params else msgspec.convert(found.params, SamplingParams)
    files = wanted(found.user_id, body.attachments, body.pins)
    return previewing.Draft(found, _parent(found, body.parent_id), body.text, params, files)


def _new(request: HttpRequest, body: Draft) -> Conversation:
    """Return the conversation that the first message would create; saves nothing."""
    if body.parent_id is not None:
        raise not_found("message")
    fields = ("model", "system_prompt", "params", "tools", "memory")
    given = {name: value for name in fields if (value := getattr(body, name)) is not None}
    return new_conversation(user_id(request), NewConversation(**given))


def _parent(found: Conversation, parent_id: str | None) -> Message | None:
    parent = found.messages.filter(pk=parent_id).first() if parent_id is not None else None
    if parent_id is not None and parent is None:
        raise not_found("message")
    return parent
