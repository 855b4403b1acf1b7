"""A conversation as a whole: the prompt's composition, the cost and the duration of each answer.

All figures come from the requests' rows, written when they were settled: no log and no trace is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpRequest

from inference.protocol.events import SegmentKind
from inference.protocol.request import Usage
from webapp.api.surfaces.chat.conversations import find_conversation
from webapp.ground.gateway.structs import Result
from webapp.models.billing.bill import UNPRICED
from webapp.models.billing.models import LedgerEntry
from webapp.requests.models import Request
from webapp.requests.summary import Status, status, usage
from webapp.surfaces.chat.branches import path_to
from webapp.surfaces.chat.models import Message

_EXCERPT_CHARS = 200


class ContextParts(Result):
    """The parts of an answer's prompt, in tokens."""

    window: int
    num_prompt_tokens: int
    kinds: dict[SegmentKind, int]
    num_dropped: int
    """Messages that did not fit."""
    num_dropped_tokens: int


class Costs(Result):
    """An answer's tokens and cost."""

    usage: Usage | None
    cost_nano: int | None
    """Null: not known, as where no price was in force."""
    currency: str | None


class Turn(Costs):
    """One answer of a conversation. Figures are null without a request: it was imported, or its trace was deleted."""

    message_id: str
    request_id: str | None
    is_imported: bool
    question: str
    """Its beginning."""
    created_at: datetime
    model: str | None
    status: Status | None
    context: ContextParts | None
    """Null also for a request that ended before its prompt was made."""
    first_text_us: int | None
    is_cache_known: bool | None
    """False: the remote back end did not report its cache, and `usage` counts all input as computed. Null: not
    recorded."""
    duration_us: int | None
    """Null until the request is settled. In step mode it has the time that a person took to choose."""


class Turns(Result):
    """A conversation as a whole."""

    id: str
    title: str
    turns: list[Turn]
    """The answers of the shown branch, oldest first."""
    others: list[Costs]
    """The answers in other branches."""


def list_turns(request: HttpRequest, conversation_id: str) -> Turns:
    """Show a conversation's prompts, costs and durations, answer by answer."""
    found = find_conversation(request, conversation_id)
    messages = list(found.tree())
    leaf = next((each for each in messages if each.pk == found.leaf_id), None)
    path = path_to(leaf, messages)
    on_path = {each.pk for each in path}
    questions = {each.pk: each.text for each in messages if each.role == Message.Role.USER}
    answers = _answers(messages)
    unpriced = _unpriced(answers)
    others = [each for each in answers if each.pk not in on_path and each.request]
    return Turns(
        id=found.pk,
        title=found.title,
        turns=[_turn(each, questions, unpriced) for each in _answers(path)],
        others=[Costs(**_costs(each.request, unpriced)) for each in others],
    )


def _answers(messages: Iterable[Message]) -> list[Message]:
    return [each for each in messages if each.role == Message.Role.ASSISTANT]


def _turn(answer: Message, questions: dict[str, str], unpriced: set[str]) -> Turn:
    request = answer.request
    return Turn(
        message_id=answer.pk,
        request_id=request.pk if request else None,
        is_imported=answer.is_imported,
        question=" ".join(questions.get(answer.parent_id or "", "").split())[:_EXCERPT_CHARS],
        created_at=answer.created_at,
        model=request.model if request else answer.imported_model or None,
        status=status(request) if request else None,
        context=msgspec.convert(request.context, ContextParts) if request and request.context else None,
        first_text_us=request.first_text_us if request else None,
        is_cache_known=request.is_cache_known if request else None,
        duration_us=request.duration_us if request and request.is_settled else None,
        **_costs(request, unpriced),
    )


def _unpriced(answers: Iterable[Message]) -> set[str]:
    """Ids of requests for which no price was in force: their cost is unknown, not zero."""
    ids = [each.request_id for each in answers if each.request_id]
    return set(
        LedgerEntry.objects.filter(request_id__in=ids, price_version=UNPRICED).values_list("request_id", flat=True)
    )


def _costs(request: Request | None, unpriced: set[str]) -> dict[str, Any]:
    """The fields of Costs."""
    if request is None:
        return dict.fromkeys(Costs.__struct_fields__)
    cost = None if request.pk in unpriced else request.cost_nano
    return {"usage": usage(request), "cost_nano": cost, "currency": request.currency}
