"""A conversation as a whole: the prompt's composition, the cost and the duration of each answer.

All figures come from the requests' rows, written when they were settled: no log and no trace is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse

from webapp.api.chat.conversations import find_conversation
from webapp.api.view import api
from webapp.billing.bill import UNPRICED
from webapp.billing.models import LedgerEntry
from webapp.chat.branches import path_to
from webapp.chat.models import Message
from webapp.requests.models import Request

_EXCERPT_CHARS = 200


@api("GET")
def turns(request: HttpRequest, conversation_id: str) -> HttpResponse:
    """List the turns of the shown branch, oldest first. `others` are the costs of the answers in other branches."""
    found = find_conversation(request, conversation_id)
    messages = list(found.tree())
    leaf = next((each for each in messages if each.pk == found.leaf_id), None)
    path = path_to(leaf, messages)
    on_path = {each.pk for each in path}
    questions = {each.pk: each.text for each in messages if each.role == Message.Role.USER}
    answers = _answers(messages)
    unpriced = _unpriced(answers)
    return JsonResponse(
        {
            "id": found.pk,
            "title": found.title,
            "turns": [_turn(each, questions, unpriced) for each in _answers(path)],
            "others": [_costs(each.request, unpriced) for each in answers if each.pk not in on_path and each.request],
        }
    )


def _answers(messages: Iterable[Message]) -> list[Message]:
    return [each for each in messages if each.role == Message.Role.ASSISTANT]


def _turn(answer: Message, questions: dict[str, str], unpriced: set[str]) -> dict[str, Any]:
    """One answer's turn. Figures are null without a request: the answer was imported, or its trace was deleted."""
    request = answer.request
    is_settled = request is not None and request.is_settled
    return {
        "message_id": answer.pk,
        "request_id": request.pk if request else None,
        "is_imported": answer.is_imported,
        "question": " ".join(questions.get(answer.parent_id or "", "").split())[:_EXCERPT_CHARS],
        "created_at": answer.created_at.isoformat(),
        "model": request.model if request else answer.imported_model or None,
        "status": request.status if request else None,
        "context": request.context if request else None,
        "first_text_us": request.first_text_us if request else None,
        "duration_us": request.duration_us if request and is_settled else None,
        **_costs(request, unpriced),
    }


def _unpriced(answers: Iterable[Message]) -> set[str]:
    """Ids of requests for which no price was in force: their cost is unknown, not zero."""
    ids = [each.request_id for each in answers if each.request_id]
    return set(
        LedgerEntry.objects.filter(request_id__in=ids, price_version=UNPRICED).values_list("request_id", flat=True)
    )


def _costs(request: Request | None, unpriced: set[str]) -> dict[str, Any]:
    names = ("usage", "cost_nano", "currency")
    costs = {name: getattr(request, name) if request else None for name in names}
    return costs | ({"cost_nano": None} if request and request.pk in unpriced else {})
