"""Sending: from a message to a started request. Knows nothing of JSON."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import transaction

from inference.eventlog.clock import unix_us
from inference.protocol.events import Limit
from inference.protocol.request import SamplingParams
from webapp.chat.branches import path_to, without_blocked
from webapp.chat.models import Conversation, Message
from webapp.lifecycle.models import Request
from webapp.lifecycle.start import Arrival, admit, start

logger = logging.getLogger(__name__)

_TITLE_CHARS = 60
_REQUEST_TITLE_CHARS = 200


@dataclass(frozen=True)
class Sent:
    """The rows that a send made."""

    user_message: Message
    assistant_message: Message


def send(conversation: Conversation, parent: Message | None, text: str, params: SamplingParams, by: Arrival) -> Sent:
    """Append a user message and start its answer. Raises TooManyOpen, QueueUnavailable."""
    question = Message(conversation=conversation, parent=parent, role=Message.Role.USER, user_text=text)
    if not conversation.title:
        conversation.title = _beginning(text, _TITLE_CHARS)
    return Sent(question, _answer(conversation, question, params, by))


def regenerate(answer: Message, params: SamplingParams, by: Arrival) -> Message:
    """Answer the same question again, as a sibling. Raises TooManyOpen, QueueUnavailable."""
    assert answer.parent is not None
    return _answer(answer.conversation, answer.parent, params, by)


def _answer(conversation: Conversation, question: Message, params: SamplingParams, by: Arrival) -> Message:
    """Create the request, with all that the model needs, and the message that will show its answer; start it.

    A question that is new is saved with them. What can be read is read before the write lock is taken.
    """
    request = Request(
        user_id=conversation.user_id,
        surface=by.surface,
        model=conversation.model,
        title=_beginning(question.user_text, _REQUEST_TITLE_CHARS),
        input={"messages": _input(conversation, question)},
        params=msgspec.to_builtins(params),
        accepted_unix_us=unix_us(),
    )
    answer = Message(conversation=conversation, parent=question, role=Message.Role.ASSISTANT, request=request)
    created = [question, answer] if question._state.adding else [answer]
    undo = _Undo(conversation.leaf_id, created[0])
    conversation.leaf_id = answer.pk
    with transaction.atomic():
        limit = admit(conversation.user_id)
        request.save(force_insert=True)
        Message.objects.bulk_create(created)
        conversation.save(update_fields=["leaf_id", "title", "updated_at"])
    _start(answer, params, by, limit, undo)
    return answer


def _beginning(text: str, num_chars: int) -> str:
    return " ".join(text.split())[:num_chars]


def _input(conversation: Conversation, question: Message) -> list[dict[str, Any]]:
    path = without_blocked(path_to(question, conversation.tree() if question.parent_id else []))
    system = [{"role": "system", "content": conversation.system_prompt, "source": "conversation:system"}]
    turns = [{"role": m.role, "content": m.text, "source": f"message:{m.pk}"} for m in path if m.text]
    return (system if conversation.system_prompt else []) + turns


@dataclass(frozen=True)
class _Undo:
    """How to leave a conversation as it was before a send that came to nothing."""

    leaf_before: str
    oldest: Message
    """The first message that the send made; those after it go with it."""

    def run(self, answer: Message) -> None:
        with transaction.atomic():
            shown = Conversation.objects.filter(pk=answer.conversation_id, leaf_id=answer.pk)
            shown.update(leaf_id=self.leaf_before)
            self.oldest.delete()
            Request.objects.filter(pk=answer.request_id).delete()


def _start(answer: Message, params: SamplingParams, by: Arrival, limit: Limit, undo: _Undo) -> None:
    assert answer.request is not None
    try:
        start(answer.request, params, by, (limit,))
    except Exception:
        logger.exception("%s could not be started", answer.request.pk)
        # Nothing is running, so the conversation must not show an answer that will never come.
        undo.run(answer)
        raise
