"""Automatic compaction: once an answer has ended, it makes room before the next message needs it.

So no message waits for a summary. Where none is there in time, the oldest turns are dropped as before.
"""

from __future__ import annotations

import logging

import msgspec
from redis.exceptions import RedisError

from inference.eventlog.clock import unix_us
from inference.protocol.request import SamplingParams
from webapp.lifecycle.prompt_packing import served
from webapp.lifecycle.start import Arrival, QueueUnavailable
from webapp.models.registry.offered import NotOffered
from webapp.requests.failure import CannotPrepare
from webapp.surfaces.chat.branches import path_to, without_blocked
from webapp.surfaces.chat.compacting import (
    SURFACE,
    CannotCompact,
    Plan,
    Turn,
    begin_compaction,
    plan,
    turns_of,
)
from webapp.surfaces.chat.models import Conversation, Message, WindowPolicy
from webapp.surfaces.chat.summaries import after, summary_of
from webapp.usage.limits.refusal import Refused

logger = logging.getLogger(__name__)

MARK = 0.75
"""Share of the prompt's room from which on a summary is made: the next message still finds some."""
_KEPT_SHARE = 0.5
"""Share of the room that the kept turns may have, so that the next summary is some turns away."""


def compact_if_full(answer_id: str) -> None:
    """Begin a summary where the branch that ends in this answer has little room left, and its policy wants one."""
    answer = Message.objects.select_related("conversation", "request").filter(pk=answer_id).first()
    if answer is None or answer.conversation.window_policy != WindowPolicy.SUMMARISE or not _is_full(answer):
        return
    try:
        begin_compaction(_plan(answer), Arrival(received_unix_us=unix_us(), surface=SURFACE))
    except (CannotCompact, CannotPrepare, NotOffered, Refused, QueueUnavailable, RedisError) as error:
        logger.info("%s is not summarised: %s", answer.conversation_id, error)


def _is_full(answer: Message) -> bool:
    request = answer.request
    if request is None or request.context is None:
        return False
    used: int = request.context["num_prompt_tokens"] + (request.num_output_tokens or 0)
    return used >= MARK * _room(answer.conversation)


def _room(conversation: Conversation) -> int:
    """The most tokens of a prompt with the conversation's settings."""
    params = msgspec.convert(conversation.params, SamplingParams)
    return served(conversation.model).assembler.room(params.max_tokens)


def _plan(answer: Message) -> Plan:
    conversation = answer.conversation
    return plan(conversation, answer, _num_kept(conversation, answer))


def _num_kept(conversation: Conversation, answer: Message) -> int:
    """The newest turns that together have at most their share of the room; the newest one at least."""
    path = without_blocked(path_to(answer, conversation.tree()))
    turns = turns_of(after(summary_of(conversation, path), path))
    left = _KEPT_SHARE * _room(conversation)
    num = 0
    for turn in reversed(turns):
        left -= _num_tokens(turn, conversation.model)
        if left < 0:
            break
        num += 1
    return max(1, num)


def _num_tokens(turn: Turn, model: str) -> int:
    return sum(map(served(model).assembler.num_content_tokens, turn.parts()))
